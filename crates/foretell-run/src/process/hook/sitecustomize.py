"""Put in front of PYTHONPATH by Foretell. Observes which options a script has and which values it logs. FORETELL_HOOK=0 turns it off."""
import os
import sys


def _load_hook():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if not path or os.path.abspath(path) != here]
    if sys.version_info < (3, 8) or os.environ.get("FORETELL_HOOK", "0") == "0":
        return
    try:
        # executed rather than imported: a new name in sys.modules would hide a module of the script with that name
        from _frozen_importlib_external import SourceFileLoader

        hook = type(sys)("_foretell_hook")
        hook.hook, hook.FOLDER = hook, os.path.join(here, "_foretell_hook")
        path = os.path.join(hook.FOLDER, "__init__.py")
        exec(SourceFileLoader(hook.__name__, path).get_code(hook.__name__), hook.__dict__)
    except Exception:
        pass


_load_hook()
# The sitecustomize that Python would have loaded without Foretell. If there is none, the error says so, and site expects it.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402, F401
