"""Programs that notice it if something beyond them runs: each prints what it sees of itself, and counts the calls of its own functions.

`test_hook.py` runs them with and without the hook; `scripts/compare-hook` does so for `foretell init` and `search`, on every Python that it finds.
"""

#: name -> the program, or its files; the first file is started
PROGRAMS = {}
#: programs whose processor time is compared
HEAVY = ("many_prints", "many_options", "many_logs", "many_imports")


def program(name, text, **files):
    PROGRAMS[name] = {"train.py": text.strip() + "\n", **{file + ".py": content for file, content in files.items()}}


# Memory: what the program frees is free.
for _name, _body in {
    "deleted": "for e in range(4):\n    b = bytearray(60 << 20); print('epoch', e); del b",
    "rebound": "b = None\nfor e in range(4):\n    b = bytearray(60 << 20); print('epoch', e); b = None",
    "argument": "def free(box): print('freed', len(box)); box.clear()\nfor e in range(4):\n    box = [bytearray(60 << 20)]; print('epoch', e); free(box)",
    "inner": "def epoch(e):\n    b = bytearray(60 << 20); print('epoch', e); del b; print('after', e); c = bytearray(60 << 20)\nfor e in range(4): epoch(e)",
    "closure": "b = bytearray(60 << 20)\ndef drop():\n    nonlocal b; print('in', len(b)); b = None\ndrop(); print('out'); c = bytearray(60 << 20); print('end')",
}.items():
    program("memory_" + _name, "def main():\n    " + _body.replace("\n", "\n    ") + "\nmain()")
program("memory_weak", "import weakref\nclass Batch: pass\ndef main():\n    for e in range(3):\n        b = Batch(); r = weakref.ref(b); print('epoch', e); del b; print(r())\nmain()")
program("memory_actions", "import argparse, weakref, gc\ndef main():\n    p = argparse.ArgumentParser(); r = weakref.ref(p.add_argument('--lr', type=float, default=1)); p.parse_args(); del p; gc.collect(); print(r())\nmain()")
program("memory_result", "import csv, sys, weakref\nclass Row(dict): pass\ndef main():\n    r = Row(loss=1.0); w = weakref.ref(r); csv.DictWriter(sys.stdout, ['loss']).writerow(r); del r; print(w())\nmain()")
program("memory_limit", "import resource\nresource.setrlimit(resource.RLIMIT_AS, (350 << 20, 350 << 20))\ndef main():\n    for e in range(4):\n        b = bytearray(120 << 20); print('epoch', e, 'loss', 1 / (e + 1), flush=True); del b\nmain()")

# Names: the program's own module wins over the standard one, and nothing is loaded that the program didn't load.
for _name in "logging tokenize ast json functools inspect traceback typing enum re copy threading weakref collections atexit2 string random csv argparse".split():
    program("own_" + _name, f"from {_name} import log\nfor e in range(3): log('epoch %d' % e)", **{_name: "def log(text): print('own', text)\n"})
program("own_sitecustomize", "import sitecustomize\nprint(sitecustomize.own)", sitecustomize="own = 'mine'\n")
program("own_hook", "import _foretell_hook\nprint(_foretell_hook.own)", _foretell_hook="own = 'mine'\n")
program("modules", "import sys\nprint(sorted(sys.modules)); print(sys.path[1:], sys.argv, sys.flags)")
program("no_sitecustomize", "import sys\nprint('sitecustomize' in sys.modules)\ntry: import sitecustomize\nexcept ImportError as error: print(error)")
program("reload", "import importlib, argparse, logging\nimportlib.reload(logging); importlib.reload(argparse)\np = argparse.ArgumentParser(); p.add_argument('--lr'); print(p.parse_args())")

# Calls: only those that the program makes itself.
COUNTS = "import sys\ncalls = []\ndef note(name): calls.append(name)\n"
PARSE = "import argparse\np = argparse.ArgumentParser(); p.add_argument('--lr', type=float, default=.1)\n"
END = "\nprint(calls)"
for _name, _body in {
    "property": "class D:\n    name = 'v'\n    @property\n    def value(self): note('value')\n    def __str__(self): note('str'); return 'v'\n    def __repr__(self): note('repr'); return 'v'\n    def __float__(self): note('float'); return 1.0\np.add_argument('--v', default=D()); p.parse_args()",
    "getattr": "class D:\n    def __getattr__(self, name): note(name); raise AttributeError(name)\np.add_argument('--v', default=D()); p.parse_args()",
    "getattribute": "class D:\n    def __getattribute__(self, name): note(name); return object.__getattribute__(self, name)\np.add_argument('--v', default=D()); p.parse_args()",
    "class": "class D:\n    __class__ = property(lambda self: note('class') or D)\n    def __eq__(self, other): note('eq'); return False\n    def __hash__(self): note('hash'); return 1\n    def __bool__(self): note('bool'); return True\np.add_argument('--v', default=D()); p.parse_args()",
    "lazy_choices": "class C:\n    def __iter__(self): note('iter'); return iter('ab')\n    def __contains__(self, item): note('contains'); return True\n    def __len__(self): note('len'); return 2\np.add_argument('--v', choices=C()); p.parse_args()",
    "generated_choices": "def g():\n    note('next'); yield 'a'\np.add_argument('--v', choices=g()); p.parse_args([])",
    "enum_str": "import enum\nclass K(enum.Enum):\n    a = 1; b = 2\n    def __str__(self): note('str'); return self.name\np.add_argument('--k', choices=list(K), default=K.a); p.parse_args()",
    "enum_value": "import enum\nclass K(enum.Enum):\n    a = 1\n    @property\n    def value(self): note('value'); return 1\np.add_argument('--k', default=K.a); p.parse_args()",
    "list_items": "class D:\n    def __str__(self): note('str'); return 'd'\n    def __float__(self): note('float'); return 1.\np.add_argument('--v', default=[D(), D()], nargs='*'); p.parse_args()",
    "dict_subclass": "class M(dict):\n    def items(self): note('items'); return dict.items(self)\n    def __iter__(self): note('iter'); return dict.__iter__(self)\n    def keys(self): note('keys'); return dict.keys(self)\np.add_argument('--v', default=M(a=1)); p.set_defaults(w=M(b=2)); p.parse_args()",
    "str_subclass": "class S(str):\n    def lower(self): note('lower'); return str.lower(self)\n    def startswith(self, *a): note('startswith'); return str.startswith(self, *a)\np.add_argument('--v', default=S('x'), choices=[S('x')]); p.parse_args()",
    "type": "def kind(text): note('type'); return text\nkind.__name__ = 'kind'\np.add_argument('--v', type=kind, default='x'); p.parse_args()",
    "type_object": "class T:\n    def __call__(self, text): note('call'); return text\n    def __repr__(self): note('repr'); return 'T'\n    @property\n    def __name__(self): note('name'); return 'T'\np.add_argument('--v', type=T(), default='x'); p.parse_args()",
    "action": "class A(argparse.Action):\n    @property\n    def default(self): note('default'); return 1\n    @default.setter\n    def default(self, value): pass\n    def __call__(self, *a): note('call')\np.add_argument('--v', action=A); p.parse_args(['--v', '1'])",
    "namespace": "class N(argparse.Namespace):\n    def __getattr__(self, name): note('get ' + name); raise AttributeError(name)\nprint(p.parse_args(namespace=N()).lr)",
    "formatter_class": "class F(argparse.HelpFormatter):\n    def __init__(self, *a, **k): note('made'); super().__init__(*a, **k)\nargparse.ArgumentParser(formatter_class=F).parse_args([])",
    "error": "class P(argparse.ArgumentParser):\n    def error(self, message): note('error'); raise SystemExit(3)\ntry: P().parse_args(['--nothing'])\nexcept SystemExit as end: print(end.code)",
}.items():
    program("argparse_" + _name, COUNTS + PARSE + _body + END)
for _name, _body in {
    "print_str": "class V:\n    def __str__(self): note('str'); return 'v'\n    def __repr__(self): note('repr'); return 'v'\nfor e in range(3): print('epoch', e, V(), [V()])",
    "print_own_module": "import meter\nm = meter.Meter()\nfor e in range(3): print('epoch', e, m)\ncalls.append(m.asked)",
    "print_sep": "class S(str):\n    def join(self, parts): note('join'); return str.join(self, parts)\nprint('a', 'b', sep=S('-'), end=S('!\\n'))",
    "print_stream": "class W:\n    def __init__(self, out): self.out = out\n    def write(self, text): note(text); return self.out.write(text)\n    def flush(self): self.out.flush()\n    def __eq__(self, other): note('eq'); return False\n    __hash__ = None\nsys.stdout = W(sys.stdout)\nfor e in range(3): print('epoch', e, flush=True)\nsys.stdout = sys.__stdout__",
    "print_none": "sys.stdout = None\nprint('nothing')\nsys.stdout = sys.__stdout__",
    "print_raises": "class V:\n    def __str__(self): note('str'); raise KeyError('v')\nfor e in range(2):\n    try: print('before', V(), 'after')\n    except KeyError as error: print(error)",
    "print_method": "class C:\n    out = print\nC().out('epoch', 1)\nC.out('epoch', 2)",
    "print_itself": "import copy, inspect, pickle, types\nprint(copy.deepcopy(print) is print, pickle.loads(pickle.dumps(print)) is print, isinstance(print, types.BuiltinFunctionType), inspect.isbuiltin(print), print, print.__name__, print.__qualname__, print.__module__, print.__doc__[:9], print.__self__, callable(print), hash(print) == hash(print), print == print)\ntry: print(inspect.signature(print))\nexcept ValueError as error: print(error)",
    "print_twice": "import builtins\nold = builtins.print\ndef new(*a, **k): note('new'); old(*a, **k)\nbuiltins.print = new\nprint('one'); print('two')\nbuiltins.print = old",
    "print_wrong": "for k in (dict(nothing=1), dict(sep=1), dict(file=3)):\n    try: print('x', **k)\n    except (TypeError, AttributeError) as error: sys.stdout.write(str(error) + '\\n')",
    "formatter": "import logging\nclass F(logging.Formatter):\n    def format(self, record): note('format'); return '[%d] ' % len(calls) + super().format(record)\nh = logging.StreamHandler(sys.stdout); h.setFormatter(F()); l = logging.getLogger('t'); l.addHandler(h); l.setLevel('INFO')\nfor e in range(3): l.info('epoch %d', e)",
    "log_argument": "import logging\nclass V:\n    def __str__(self): note('str'); return 'v'\nlogging.basicConfig(stream=sys.stdout, level='INFO', format='%(lineno)d %(funcName)s %(message)s')\nfor e in range(3): logging.info('epoch %s', V())",
    "log_filter": "import logging\nlogging.basicConfig(stream=sys.stdout, level='INFO')\nclass F(logging.Filter):\n    def filter(self, record): note(record.getMessage()); return True\nlogging.getLogger().handlers[0].addFilter(F()); logging.info('one')",
    "log_stream": "import logging\nclass H(logging.StreamHandler):\n    @property\n    def stream(self): note('stream'); return sys.stdout\n    @stream.setter\n    def stream(self, value): pass\nlogging.getLogger().addHandler(H()); logging.warning('one')",
    "csv_float": "import csv\nclass V:\n    def __float__(self): note('float'); return 1.\n    def __str__(self): note('str'); return '1'\nclass R(dict):\n    def items(self): note('items'); return dict.items(self)\nw = csv.DictWriter(sys.stdout, ['epoch', 'loss'])\nw.writerow(R(epoch=1, loss=V()))",
    "main_lazy": "class L:\n    def __getattr__(self, name): note(name); raise AttributeError(name)\nlazy = L()\ndef main(): print('epoch 1')\nmain()",
}.items():
    program(_name, COUNTS + _body + END, **({"meter": "class Meter:\n    asked = 0\n    def __str__(self): self.asked += 1; return 'm%d' % self.asked\n"} if "own_module" in _name else {}))

# What a program can see of its own functions.
for _name, _body in {
    "held": "d = locals()\n    x = 2\n    for e in range(3): print('epoch', e)\n    print(sorted(d))",
    "vars": "d = vars()\n    x = 2\n    for e in range(3): print('epoch', e)\n    print(sorted(d))",
    "exec": "exec('y = 3')\n    for e in range(3): print('epoch', e)\n    print(eval('y') if 'y' in locals() else None)",
    "frame": "import sys\n    d = sys._getframe().f_locals\n    for e in range(3): print('epoch', e)\n    print(sorted(d))",
}.items():
    program("locals_" + _name, f"def main():\n    {_body}\nmain()")
program("trace", "import sys\ndef tracer(frame, event, arg):\n    print(event, frame.f_code.co_name) if frame.f_code.co_filename == __file__ else None\n    return tracer\ndef main():\n    x = 1\n    y = x + 1\n    return y\nsys.settrace(tracer); r = main(); sys.settrace(None); print(r)")
program("profile", "import cProfile, sys\ndef f(): return sum(range(9))\np = cProfile.Profile(); p.enable(); f(); p.disable(); print(len([e for e in p.getstats() if getattr(e.code, 'co_name', '') == 'f']))")
program("warning", "import warnings, argparse, csv, sys\nclass R(dict):\n    def get(self, *a): warnings.warn('slow', stacklevel=2); return dict.get(self, *a)\nclass V:\n    def __str__(self): warnings.warn('shown', stacklevel=2); return 'v'\nprint(V()); print('epoch', V())")
program("descriptors", "import os\nf = open(__file__); print(f.fileno(), sorted(os.listdir('/proc/self/fd')) if os.path.isdir('/proc/self/fd') else None)")
program("random", "import random, hashlib\nrandom.seed(3); print('epoch 1', random.random(), random.getrandbits(64))")
program("recursion", "import sys\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(sys.getrecursionlimit() - 60))")
program("threads", "import threading\nlock = threading.Lock()\ndef f(i):\n    with lock: print('thread', i)\nts = [threading.Thread(target=f, args=(i,)) for i in range(4)]\nfor t in ts: t.start(); t.join()\nprint(threading.active_count())")

# Ends.
for _name, _body in {
    "error": "print('epoch 1 loss=1'); raise ValueError('loss=1')",
    "exit": "import sys; print('epoch 1'); sys.exit(7)",
    "message": "import sys; sys.exit('the end')",
    "abrupt": "import os; print('epoch 1', flush=True); os._exit(5)",
    "atexit": "import atexit; atexit.register(print, 'last'); atexit.register(lambda: print('before it')); print('epoch 1')",
    "signal": "import os, signal; signal.signal(signal.SIGTERM, lambda *a: print('signal')); os.kill(os.getpid(), 15); print('epoch 1')",
    "killed": "import os; print('epoch 1', flush=True); os.kill(os.getpid(), 9)",
    "excepthook": "import sys; sys.excepthook = lambda kind, value, trace: print(kind.__name__, value); raise KeyError('k')",
    "syntax": "print('epoch 1')\nexec('1 +')",
    "missing": "import argparse; p = argparse.ArgumentParser(prog='t'); p.add_argument('--data', required=True); p.parse_args([])",
    "help": "import argparse; p = argparse.ArgumentParser(prog='t'); p.add_argument('--data', help='the data'); p.parse_args(['--help'])",
    "fork": "import os\nprint('epoch 1', flush=True)\nif os.fork() == 0: print('child', flush=True); os._exit(0)\nos.wait(); print('parent')",
    "subprocess": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(1); raise SystemExit(4)'], stdout=subprocess.PIPE).returncode)",
    "spawn": "import multiprocessing as m\ndef f(i): return i * 2\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(2) as pool: print(pool.map(f, range(4)))",
    "execv": "import os, sys\nif len(sys.argv) < 2: os.execv(sys.executable, [sys.executable, __file__, 'again'])\nprint(sys.argv[1:])",
    "folder": "import os\nos.makedirs('a', exist_ok=True); os.chdir('a'); open('log.txt', 'w').write('x'); print(os.listdir('.'))",
    "closed": "import os, sys\nos.closerange(3, 60); f = open('own.csv', 'w'); print(f.fileno(), flush=True); f.write('a,b'); f.close()",
    "no_open": "import builtins, io, os\ndef refused(*a, **k): print('opened', a[:1]); raise OSError('no')\nfor m in (builtins, io): m.open = refused\nfor name in ('open', 'write', 'close'): setattr(os, name, refused)\nfor e in range(2): print('epoch', e)",
}.items():
    program("end_" + _name, _body)

program("many_prints", "for i in range(5000): print('epoch', i, 'loss', 0.5, flush=True)")
program("many_options", "import argparse\np = argparse.ArgumentParser()\nfor i in range(3000): p.add_argument('--option-%d' % i, type=float, default=.1)\nprint(len(vars(p.parse_args([]))))")
program("many_logs", "import logging, sys\nlogging.basicConfig(stream=sys.stdout, level='INFO', format='%(message)s')\nfor i in range(5000): logging.info('epoch %d', i)")
program("many_imports", "import argparse, csv, logging, json, unittest, http.client, email, xml.dom.minidom, sqlite3, decimal\nprint(1)")
