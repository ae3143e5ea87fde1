"""Renames identifiers and files by whole words: the same on every branch. Run at the root of a worktree.

Once is enough, twice changes nothing more: a rule whose old names are gone does nothing.
Only code is renamed; strings stay, so that keys of files and columns of tables are as they were. Names that cannot be
mistaken for words (CamelCase of two humps, snake_case) are renamed in comments and documents too.
"""
import fnmatch, re, subprocess, sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from rename_words_table import FILES, FOLDERS, GLOBAL, LOCAL, REGEX, PLACE_FREE  # noqa: E402

SKIP = ('CHANGELOG.md', 'tests/fuzz/corpus/', 'tests/fuzz/regressions/', 'data/', 'benchmarks/results/', 'tests/golden/older_study/', 'tests/hygiene/messages.txt')
BINARY = ('.png', '.gz', '.safetensors', '.ipynb', '.parquet', '.bin', '.json', '.svg', '.zst')
CPP = ('.h', '.cpp', '.cu', '.cuh', '.cpp.in')
DEFAULT = {'cpp': {'place': 'index', 'places': 'indexes', 'place_': 'index_', 'places_': 'indexes_'},
           'py': {'place': 'index', 'places': 'indexes'},
           'ts': {'place': 'index', 'places': 'positions'}}


def git(*a): return subprocess.run(['git', *a], capture_output=True, text=True, check=True).stdout


def kind_of(name):
    if name.endswith(CPP): return 'cpp'
    if name.endswith('.py'): return 'py'
    if name.endswith(('.ts', '.mjs')): return 'ts'
    return 'text'


CPP_TOKEN = re.compile(r'R"([^(\s]*)\((?:.|\n)*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*(?:.|\n)*?\*/|\d[\w\'.]*|[A-Za-z_]\w*')
PY_TOKEN = re.compile(r'(?P<prefix>(?<!\w)[rbuRBUfF]{0,2})(?P<quote>"""|\'\'\'|"|\')|#[^\n]*|\d[\w.]*|[A-Za-z_]\w*')
TS_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`|//[^\n]*|/\*(?:.|\n)*?\*/|(?<=[(,=:[!&|?{}; ])/(?![/*\s])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*|\d[\w.]*|[A-Za-z_$][\w$]*')


def pieces(text, kind):
    """(is code's identifier, is comment, piece) of all of a text."""
    if kind == 'cpp': return cpp_pieces(text)
    if kind == 'py': return py_pieces(text)
    return ts_pieces(text)


def cpp_pieces(text):
    at, out = 0, []
    for m in CPP_TOKEN.finditer(text):
        if m.start() < at: continue
        out.append(('', text[at:m.start()])); t = m.group(0)
        out.append(('comment' if t.startswith(('//', '/*')) else 'name' if (t[0].isalpha() or t[0] == '_') and not t.startswith('R"') else '', t))
        at = m.end()
    out.append(('', text[at:])); return out


def py_pieces(text):
    out, at = [], 0
    while at < len(text):
        m = PY_TOKEN.search(text, at)
        if not m: break
        out.append(('', text[at:m.start()]))
        if m.group('quote'):
            quote, end = m.group('quote'), m.end()
            f = 'f' in m.group('prefix').lower()
            out.append(('', text[m.start():end])); start = end
            doc = not out or quote == '"""'
            while True:
                if text.startswith(quote, end): break
                if text[end] == '\\': end += 2; continue
                if f and text.startswith('{{', end): end += 2; continue
                if f and text[end] == '{':
                    depth, close = 1, end + 1
                    while depth:
                        depth += {'{': 1, '}': -1}.get(text[close], 0); close += 1
                    out.append(('comment' if doc else '', text[start:end])); out += py_pieces(text[end:close]); start = end = close; continue
                end += 1
            out.append(('comment' if doc else '', text[start:end])); out.append(('', quote)); at = end + len(quote); continue
        t = m.group(0)
        out.append(('comment' if t[0] == '#' else 'name' if t[0].isalpha() or t[0] == '_' else '', t)); at = m.end()
    out.append(('', text[at:])); return out


def ts_pieces(text):
    out, at = [], 0
    while at < len(text):
        m = TS_TOKEN.search(text, at)
        if not m: break
        out.append(('', text[at:m.start()])); t = m.group(0)
        if t == '`':
            end = start = m.end(); out.append(('', '`'))
            while text[end] != '`':
                if text[end] == '\\': end += 2; continue
                if text.startswith('${', end):
                    depth, close = 1, end + 2
                    while depth:
                        if text[close] == '`':  # a template within
                            close = text.index('`', close + 1)
                        depth += {'{': 1, '}': -1}.get(text[close], 0); close += 1
                    out.append(('', text[start:end] + '${')); out += ts_pieces(text[end + 2:close - 1]); out.append(('', '}')); start = end = close; continue
                end += 1
            out.append(('', text[start:end + 1])); at = end + 1; continue
        out.append(('comment' if t.startswith(('//', '/*')) else 'name' if t[0].isalpha() or t[0] in '_$' else '', t)); at = m.end()
    out.append(('', text[at:])); return out


def safe_in_comments(name): return bool(re.search(r'[a-z]\w*[A-Z]', name) and name[0].isupper() or '_' in name.strip('_'))


WORDS = {old: new for old, new in GLOBAL.items() if safe_in_comments(old)}
WORD = re.compile(r'(?<![\w])(' + '|'.join(sorted(WORDS, key=len, reverse=True)) + r')(?!\w)')
QUOTED = re.compile(r'`(' + '|'.join(sorted(GLOBAL, key=len, reverse=True)) + r')`')


NAMED = re.compile(r'`(\w+)`')


def in_words(text): return QUOTED.sub(lambda m: f'`{GLOBAL[m.group(1)]}`', WORD.sub(lambda m: WORDS[m.group(1)], text))


def matches(name, globs): return any(fnmatch.fnmatch(name, g) for g in globs.split())


def renamed(name, text):
    kind = kind_of(name)
    if kind == 'text': return in_words(text) if name.endswith(('.md', 'limits.toml')) else text
    for globs, when, pattern, new in REGEX:
        if matches(name, globs) and (when is None or re.search(rf'\b{when}\b', text)): text = re.sub(pattern, new, text, flags=re.M)
    table = {} if matches(name, PLACE_FREE) else dict(DEFAULT[kind])
    for globs, when, names in LOCAL:
        if matches(name, globs) and (when is None or re.search(rf'\b{when}\b', text)): table |= names
    if kind == 'cpp': table = GLOBAL | table
    out, last = [], ''
    for what, piece in pieces(text, kind):
        if what == 'name':
            if not (kind == 'ts' and last.endswith(('.packed.', 'packed.'))): piece = table.get(piece, piece)
        elif what == 'comment': piece = in_words(NAMED.sub(lambda m: f'`{table.get(m.group(1), m.group(1))}`', piece) if kind == 'cpp' else piece)
        out.append(piece)
        last = (last + piece)[-20:]
    return ''.join(out)


def main():
    tracked = [f for f in git('ls-files', '-z').split('\0') if f and Path(f).is_file() and not Path(f).is_symlink()]
    # Files and folders.
    moves = {}
    for f in tracked:
        new = f
        for old, to in FOLDERS.items():
            if new.startswith(old + '/'): new = to + new[len(old):]
        for old, to in FILES.items():
            new = re.sub(rf'(?<=/){old}(?=(?:_test)?\.\w+$)', to, new) if matches(f, to_globs(old)) else new
        if new != f: moves[f] = new
    for a, b in moves.items():
        Path(b).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(['git', 'mv', a, b], check=True)
    files = [moves.get(f, f) for f in tracked]
    changed = []
    for f in files:
        if f.startswith(SKIP) or f.endswith(BINARY): continue
        path = Path(f)
        try: text = path.read_bytes().decode()
        except UnicodeDecodeError: continue
        new = paths_in(f, text)
        new = renamed(f, new)
        if new != text: path.write_bytes(new.encode()); changed.append(f)
    code = sorted(f for f in set(changed) | set(moves.values()) if f.endswith(('.h', '.cpp', '.cu', '.cuh')) and Path(f).is_file())
    for i in range(0, len(code), 100): subprocess.run(['clang-format', '-i', *code[i:i + 100]], check=True)
    git('add', '-u')
    print(len(moves), 'moved,', len(changed), 'changed')


def to_globs(old): return f'ropewalk/*/{old}.* tests/*/{old}.* tests/*/{old}_test.*'


def paths_in(name, text):
    for old, new in FOLDERS.items():
        short = old.split('/', 1)[1]
        text = re.sub(rf'(?<![\w/-])((?:ropewalk|tests)/)?{short}(?![\w-])', lambda m: (m.group(1) or '') + new.split('/', 1)[1], text)
        if name.endswith('CMakeLists.txt') and f'/{Path(old).parent.name}/' in f'/{name}': text = re.sub(rf'(?<![\w/]){Path(old).name}/', f'{Path(new).name}/', text)
        if name.endswith('CMakeLists.txt'): text = text.replace(f'{short}/', f'{new.split("/", 1)[1]}/')
    for old, new in FILES.items():
        text = re.sub(rf'(?<![\w]){old}((?:_test)?\.(?:h|cpp|cu|cuh)\b)', rf'{new}\1', text)
    return text


if __name__ == '__main__': main()
