"""Put in front of PYTHONPATH by Foretell. Observes which options a script has and which values it logs. FORETELL_HOOK=0 turns it off."""
import os
import sys


def _load_hook():
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        if os.environ.get("FORETELL_HOOK", "0") != "0":
            import _foretell_hook  # noqa: F401
    except Exception:
        pass
    sys.path[:] = [path for path in sys.path if not path or os.path.abspath(path) != here]


def _load_next():
    """Runs the sitecustomize that Python would have loaded without Foretell."""
    # both modules are loaded already, while importlib.util would take longer than all the rest
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)  # site reports its exceptions, as it does without Foretell


_load_hook()
_load_next()
