"""words_apply.py PREFIX…: puts the comments of /tmp/words_map.json into the files of these prefixes, and the messages of /tmp/m_*.txt."""
import json, re, subprocess, sys
src = open('/tmp/cm.py').read().replace('\nmain()\n', '\n'); exec(src)
m = json.load(open('/tmp/words_map.json'))
norm = lambda t: ' '.join(t.split())
# moved files
MOVED = json.load(open('/tmp/words_moved.json')) if Path('/tmp/words_moved.json').exists() else {}
tracked = subprocess.run(['git', 'ls-files', *sys.argv[1:]], capture_output=True, text=True).stdout.split()
anywhere = {}
for f, es in m.items():
    for e in es: anywhere.setdefault((norm(e['old']), e['tr']), e)
left = {f: {(norm(e['old']), e['tr']) for e in es} for f, es in m.items() if f.startswith(tuple(sys.argv[1:]))}
oldset = {}
for f in tracked:
    if f.endswith(('.h', '.cpp', '.cu', '.cuh')):
        t = subprocess.run(['git', 'show', 'c682a04:' + f], capture_output=True, text=True).stdout
        oldset[f] = {norm(b[3]) for b in blocks(t.split('\n'))}
for f in tracked:
    if not f.endswith(('.h', '.cpp', '.cu', '.cuh')): continue
    own = {}
    for e in m.get(f, []): own.setdefault((norm(e['old']), e['tr']), []).append(e)
    p = Path(f); lines = p.read_text().split('\n'); bs = blocks(lines)
    plan = []
    for i, (a, b, c, t, tr) in enumerate(bs):
        k = (norm(t), tr)
        if k[0].startswith('namespace'): continue
        e = own[k].pop(0) if own.get(k) else None
        if e is None and len(k[0]) > 25 and k[0] not in oldset.get(f, ()): e = anywhere.get(k)
        if e is None: continue
        left.get(f, set()).discard(k)
        plan.append((a, b, c, tr, e))
    if not plan: continue
    for a, b, c, tr, e in reversed(plan):
        code = lines[a][:c].rstrip() if tr else ''
        ind = ' ' * (len(lines[a]) - len(lines[a].lstrip()))
        if e['new'] is None: lines[a:b + 1] = [code] if tr else []
        elif tr and e['newtr']: lines[a:b + 1] = [code + '  // ' + ' '.join(x.lstrip()[2:].strip() for x in e['new'])]
        elif tr: lines[a:b + 1] = [ind + x for x in rewrap(e['new'], ind)] + [code] if False else [ind + x.strip() for x in e['new']] + [code]
        else: lines[a:b + 1] = [ind + x for x in e['new']]
    p.write_text('\n'.join(lines)); subprocess.run(['clang-format', '-i', f], check=True)
for f, ks in left.items():
    for k in ks:
        if not k[0].startswith('namespace'): print('NOT APPLIED', f, '|', k[0][:110])
