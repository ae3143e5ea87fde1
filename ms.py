"""ms.py apply FILE: '## path', '- old literal', '+ new literal' (source text without quotes). ms.py tests OLD NEW: tests that hold fragments of removed messages."""
import re, subprocess, sys
from pathlib import Path
PIECE = r'"((?:[^"\\\n]|\\.)*)"'
SEQ = re.compile(rf'{PIECE}(?:\s*{PIECE})*')
def apply(file):
    cur = old = None; todo = {}
    for l in Path(file).read_text().split('\n'):
        if l.startswith('## '): cur = l[3:].strip()
        elif l.startswith('- '): old = l[2:]
        elif l.startswith('+ '): todo.setdefault(cur, []).append((old, l[2:])); old = None
        elif l.strip(): raise SystemExit('bad: ' + l)
    for f, pairs in todo.items():
        t = Path(f).read_text()
        for old, new in pairs:
            n = 0
            def sub(m):
                nonlocal n
                if ''.join(re.findall(PIECE, m.group(0))) != old: return m.group(0)
                n += 1; return f'"{new}"'
            t = SEQ.sub(sub, t)
            if n == 0: print('NOT FOUND', f, old)
        Path(f).write_text(t)
        if f.endswith(('.h', '.cpp', '.cu', '.cuh')): subprocess.run(['clang-format', '-i', f], check=True)
def tests(old, new):
    a = {l[5:-1] for l in Path(old).read_text().split('\n') if l.startswith('    "')}; b = {l[5:-1] for l in Path(new).read_text().split('\n') if l.startswith('    "')}
    for m in sorted(a - b):
        frags = sorted({x.strip() for x in re.split(r"\{[^}]*\}|\\n|\\\"|'", m) if len(x.strip()) >= 8}, key=len, reverse=True)
        words = set()
        for fr in frags:
            # pieces of four words
            w = fr.split()
            for i in range(max(1, len(w) - 3)): words.add(' '.join(w[i:i + 4]))
        hits = set()
        for w in words:
            if len(w) < 9: continue
            kept = any(w in x for x in b)
            r = subprocess.run(['git', 'grep', '-nF', '-e', w, '--', 'tests', 'docs/*.md', 'python', ':!tests/hygiene/messages.txt'], capture_output=True, text=True).stdout
            for h in r.splitlines(): hits.add(h[:190])
        if hits:
            print('--', m); [print('     ', h) for h in sorted(hits)[:12]]
if sys.argv[1] == 'apply': apply(sys.argv[2])
else: tests(*sys.argv[2:4])
