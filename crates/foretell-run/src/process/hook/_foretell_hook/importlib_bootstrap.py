"""The frames that stand between the script and what it calls.

Python's warnings and loggers skip frames of a file with "importlib" and "_bootstrap" in its name when they look for their caller, so that with the
hook, too, they name the script's line.
"""
import builtins
import sys

_getframe = sys._getframe
MANY = 1000


def watch(function, handler, before, trouble):
    """The `function`, with `handler` called before or after each call: with its arguments, and for after its result in front of them."""
    where, is_short = "%s.%s" % (handler.__module__, handler.__name__), hasattr(handler, "needs_only_result")

    def watched(*args, **kwargs):
        if before:
            try:
                handler(*args, **kwargs)
            except Exception as error:
                trouble(where, error)
            return function(*args, **kwargs)
        result = function(*args, **kwargs)
        try:
            if is_short:
                handler(result)
            else:
                handler(result, *args, **kwargs)
        except Exception as error:
            trouble(where, error)
        return result

    # as functools.wraps does it, which would have to be imported
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        try:
            setattr(watched, name, getattr(function, name))
        except (AttributeError, TypeError):
            pass
    watched.__dict__.update(getattr(function, "__dict__", {}))
    watched.__wrapped__ = function
    watched._foretell = (handler.__name__, before)
    return watched


class Tee:
    """A stream for one print: what it writes is kept, because asking the printed objects a second time could change them."""

    __slots__ = ("stream", "pieces")

    def __init__(self, stream):
        self.stream, self.pieces = stream, []

    def write(self, text):
        self.pieces.append(text)
        return self.stream.write(text)

    def flush(self):
        return self.stream.flush()


def stand_in(function, is_sampled, tell):
    """An object that is called like the `print` that it replaces. `is_sampled` chooses the calls whose text and frame `tell` gets.

    Unlike a function of Python, it doesn't become a method where a class has it as an attribute, and it is copied and pickled as `print`.
    """

    count = [0]

    class Print:
        __slots__ = ()
        __doc__ = function.__doc__
        __module__ = "builtins"
        __class__ = property(lambda self: type(function))

        def __call__(self, *values, **options):
            count[0] = seen = count[0] + 1
            # looking at each of so many lines would take a script with thousands of them longer
            if seen <= MANY or not seen % 4:
                stream = options.get("file")
                stream = sys.stdout if stream is None else stream
                try:
                    frame = _getframe(1)
                except ValueError:  # Python itself is the caller, as for atexit.register(print)
                    frame = None
                if frame is not None and is_sampled(frame, stream):
                    options["file"] = tee = Tee(stream)
                    function(*values, **options)
                    return tell(tee.pieces, frame)
            return function(*values, **options)

        def __getattr__(self, name):
            return getattr(function, name)

        def __repr__(self):
            return repr(function)

        def __reduce_ex__(self, version):
            return function.__name__

    builtins.print = Print()
