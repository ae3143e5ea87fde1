"""hits.py OLD NEW: literals in tests and docs that a changed message held and no message holds now."""
import re, subprocess, sys
from pathlib import Path
def load(p): return [l[5:-1] for l in Path(p).read_text().split('\n') if l.startswith('    "')]
a, b = load(sys.argv[1]), load(sys.argv[2])
norm = lambda m: re.sub(r'\{[^}]*\}', '{}', m).replace('\\"', '"')
removed = [norm(m) for m in set(a) - set(b)]
kept = '\n'.join(norm(m) for m in b)
files = subprocess.run(['git', 'ls-files', 'tests', 'docs/*.md', 'README.md', 'python', 'report/src', 'benchmarks/*.py', 'examples', 'tools'], capture_output=True, text=True).stdout.split()
LIT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'|`([^`\n]*)`')
for f in files:
    if 'messages.txt' in f or 'fuzz/corpus' in f or not f.endswith(('.py', '.cpp', '.h', '.mjs', '.md', '.ts')): continue
    t = Path(f).read_text()
    for n, line in enumerate(t.split('\n'), 1):
        out = set()
        for m in LIT.finditer(line):
            lit = next(g for g in m.groups() if g is not None)
            for part in re.split(r'\{[^}]*\}|\.\*|\.\+|\\d\+?|\\[a-z]|\\(?=\W)|[()\[\]|^$?*+\'"`]', lit):
                w = part.split()
                for frag in {part, part.strip(), *(' '.join(w[i:i + 3]) for i in range(len(w) - 2))}:
                    if len(frag) < 7: continue
                    hit = [r for r in removed if frag in r]
                    if hit and frag not in kept: out.add((frag, hit[0]))
        for frag, r in sorted(out, key=lambda x: -len(x[0]))[:1]: print(f'{f}:{n}: {frag!r}   <- {r[:110]}')
