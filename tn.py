import re,subprocess
from pathlib import Path
todo={}
for l in open('/tmp/tn.txt'):
    s,a,b=l.split(); todo[(s,a)]=b
todo.update({('KeepOptionsTest',a):b for (s,a),b in list(todo.items()) if s=='AddKeptTest'})
used=set(); changed=[]
for f in subprocess.run(['git','ls-files','tests'],capture_output=True,text=True).stdout.split():
    if not f.endswith('.cpp'): continue
    t=Path(f).read_text()
    def sub(m):
        k=(m.group(2),m.group(3))
        if k in todo: used.add(k); return f'{m.group(1)}({k[0]}, {todo[k]})'
        return m.group(0)
    n=re.sub(r'(TEST(?:_F|_P)?)\((\w+), (\w+)\)',sub,t)
    if n!=t: Path(f).write_text(n); changed.append(f)
subprocess.run(['clang-format','-i',*changed])
print(len(used),[k for k in todo if k not in used])
