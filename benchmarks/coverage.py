"""How often 95 % intervals contain the truth: 1,000 simulated studies for each setting."""

import json
import subprocess
import sys

import machine

studies = sys.argv[1] if len(sys.argv) > 1 else "1000"
done = subprocess.run([machine.BUILD / "benchmarks" / "coverage", studies], stdout=subprocess.PIPE, text=True, check=True)
result = json.loads(done.stdout)
machine.write("coverage", result)
names = [n for n in result["coverage"][0] if n not in ("documents", "correlation_between_heads", "population")]
print(f"{'population':<10}{'documents':>10}{'correlated':>11}" + "".join(f"{n:>18}" for n in names))
for row in result["coverage"]:
    print(f"{row['population']:<10}{row['documents']:>10}{row['correlation_between_heads']:>11}" + "".join(f"{row[n]:>18.3f}" for n in names))
