"""verify_audit.py <export> <jwks.json> [<kept notes>]: exits 0 intact, 2 tampered, 3 incomplete, 1 not verified."""
import base64, collections, functools, hashlib, json, re, sys
NAME, B64, LAST = r"[^\s+]+", "[A-Za-z0-9+/]", "[AEIMQUYcgkosw048]="  # LAST: there is only one spelling in base64
SIGNATURE = f"— ({NAME}) ((?:{B64}{{4}})+(?:{B64}{{2}}{LAST}|{B64}[AQgw]==)?)\n"
NOTE = re.compile(rf"((({NAME}/(?:root(?:\.[^\s+/]+)?|log/([^\s+/]+)))\n(0|[1-9][0-9]*)\n({B64}{{42}}{LAST})\n)\n(?:{SIGNATURE})+)")
TEXT = r'"(?:[^"\\\x00-\x1f]|\\[n"\\])*"'
CHECKPOINT, PROBLEM = (re.compile(rf'\{{"{name}":({TEXT})\}}') for name in ("checkpoint", "problem"))
ENTRY = re.compile(r'(\{.*"index":(0|[1-9][0-9]*),)"leaf":"([A-Za-z0-9_-]{43})",("log":".*\})')  # the last "leaf"
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519: the field, the order of the base point
D, I = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)  # the constant of the curve, a square root of -1
def add(a, b, x, y):
    return (a*y + b*x) * pow(1 + D*a*b*x*y, -1, P) % P, (b*y + a*x) * pow(1 - D*a*b*x*y, -1, P) % P
def times(n, p): return add(*times(n // 2, add(*p, *p)), *(p if n % 2 else (0, 1))) if n else (0, 1)
def point(data, sign=1):
    y = int.from_bytes(data, "little") % 2**255
    roots = [pow((y*y - 1) * pow(D*y*y + 1, -1, P), (P + 3) // 8, P) * i % P for i in (1, -1, I, -I)]
    return next(sign * x for x in roots if (x*x * (D*y*y + 1) - y*y + 1) % P == 0 and x % 2 == data[31] >> 7), y
def signs(key, signature, text):  # RFC 8032, 5.1.7: is R = [s]base - [k]key?
    k, s = (int.from_bytes(n, "little") for n in (hashlib.sha512(signature[:32] + key + text).digest(), signature[32:]))
    x, y = add(*times(s, point(b"\x58" + b"\x66" * 31)), *times(k, point(key, sign=-1)))
    return len(signature) == 64 and s < L and (y | x % 2 << 255).to_bytes(32, "little") == signature[:32]
def sha256(data): return hashlib.sha256(data).digest()
def fault(message): raise ValueError(message)
def grow(log, node=None, size=1):  # append a leaf, if there is one, and compare with the checkpoints of this size
    tree = trees.setdefault(log, {})  # the roots of its perfect trees, by their sizes; log "" is the root log
    while node and size in tree: node, size = sha256(b"\1" + tree.pop(size) + node), 2 * size
    if node: tree[size] = node
    root = functools.reduce(lambda a, b: sha256(b"\1" + b + a), [tree[n] for n in sorted(tree)] or [sha256(b"")])
    for name in [log] if log else roots:  # the root log may have had several names
        due.pop((name, sum(tree)), {root}) == {root} or fault(f"log {name!a} has another root at {sum(tree)}")
def leave_root():  # a checkpoint follows: the store was restored, and the root log goes on under another name
    lost.update(key for key in due if key[0] == ended[0])
    for key in lost: due.pop(key, None)
    roots.discard(ended[0]), past.add(ended[0])
    grow("", sha256(b"\0" + ended[1][0].encode()))
def end_checkpoints(key, parts):  # no checkpoint follows
    note, text, name = parts
    pairs = [(k, base64.b64decode(s)) for n, s in re.findall(SIGNATURE, note) for k in keys if n == name]
    fitting = [(k, s) for k, s in pairs if s[:4] == sha256(f"{name}\n\1".encode() + k)[:4]]
    fitting and all(signs(k, s[4:], text.encode()) for k, s in fitting) or fault("no known key signed the root log")
    roots == {key} and all(k in last or k == key for k, _ in due) or fault("a log is gone of which a note was kept")
trees, due, last, log, code, where, line = {}, collections.defaultdict(set), {}, "", 1, "before line 1", b""
roots, past, lost, ended, begun = set(), set(), set(), None, False  # ended: the last note of a root log
try:
    keys = [base64.urlsafe_b64decode(key["x"] + "=") for key in json.load(open(sys.argv[2], "rb"))["keys"]]
    kept = open(sys.argv[3], "rb").read().decode() if sys.argv[3:] else ""
    NOTE.sub("", kept) and fault("the kept notes are not notes one after another")
    for _, _, origin, name, size, root, _, _ in NOTE.findall(kept):
        if not int(size): continue
        if not name: roots.add(name := "/" + origin.rsplit("/", 1)[1])
        due[name, int(size)].add(base64.b64decode(root))
    for code, where, line in ((2, f"line {n}", line) for n, line in enumerate(open(sys.argv[1], "rb"), 1)):
        if not line.endswith(b"\n"): break
        if PROBLEM.fullmatch(line[:-1].decode()): line = b""; break
        if hit := CHECKPOINT.fullmatch(text := line[:-1].decode()):
            note, text, name, log, size, root, *_ = (NOTE.fullmatch(json.loads(hit[1])) or fault("no note")).groups("")
            begun and fault("this checkpoint is not in its place")
            if ended: leave_root(); ended = None
            if log:
                int(size) >= last.get(log, 1) or fault("this checkpoint is smaller than one before it")
                last[log] = int(size); due[log, int(size)].add(base64.b64decode(root))
                grow(log), grow("", sha256(b"\0" + note.encode()))
            else:
                roots.add(key := "/" + name.rsplit("/", 1)[1])
                key not in past or fault("this root log has had its last checkpoint")
                due[key, int(size)].add(base64.b64decode(root))
                grow("")
                (key, int(size)) not in due or fault("the size is not the number of checkpoints")
                ended = key, (note, text, name)
        else:
            if not begun and ended: end_checkpoints(*ended)
            hit, entry = ENTRY.fullmatch(text) or fault("this is no entry"), json.loads(text, parse_constant=int)
            before, log, index = log, entry["log"], int(hit[2])
            where, leaf = f"{where}, log {log!a}, index {index}", sha256(b"\0" + (hit[1] + hit[4]).encode())
            base64.urlsafe_b64encode(leaf)[:43].decode() == hit[3] or fault("the leaf is not the hash of the entry")
            members = "actor agent_id at data id index leaf log subject" + " trace_id" * ("trace_id" in entry) + " type"
            " ".join(entry) == members or fault("the members are wrong")
            begun = True
            ended and (log == before or index == 0) or fault("this log is not in its place")
            index == sum(trees.get(log, ())) < last.get(log, 0) or fault("an entry was added, removed or moved")
            grow(log, leaf)
    if ended and not begun: end_checkpoints(*ended)
    code = 0 if line.endswith(b"\n") and ended and not due and not lost else 3
    message = ", ".join(f"log {log!a} has {sum(trees[log])} of {size} entries" for log, size in last.items())
except Exception as error: code, message = 1 if isinstance(error, OSError) else code, error
sys.exit(print(f"{('intact', 'not verified', 'tampered', 'incomplete')[code]}: {where}: {message}") or code)
