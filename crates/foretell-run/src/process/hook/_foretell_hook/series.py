"""The values that a script passes to its libraries, as series: each with its steps, told from other trainings of the run."""
import errno
import os
from _thread import RLock

emit, append, rank, to_json, text, pairs, is_own_kind = hook.emit, hook.append, hook.rank, hook.to_json, hook.text, hook.pairs, hook.is_own_kind  # noqa: F821
FOLDS = hook.FOLDS  # noqa: F821
PATH, CHOSEN, SERIES, SOURCE, STAGE, WAY = hook.PATH, hook.CHOSEN, hook.SERIES, hook.SOURCE, hook.STAGE, hook.WAY  # noqa: F821
#: after so many values of one series, init only sees one in a hundred
LIMIT = 20000


def number(value):
    """A float; None for anything that is no single number."""
    kind = type(value)
    if kind is float or kind is int:
        return float(value)
    if value is None or issubclass(kind, (bool, str, bytes)):
        return None
    if issubclass(kind, (int, float)):
        return float.__float__(value) if issubclass(kind, float) else float(int.__int__(value))
    if is_own_kind(kind):
        return None
    if getattr(value, "shape", ()) not in ((), (1,), [1]) or not hasattr(value, "__float__"):
        return None
    detach = getattr(value, "detach", None)
    return float(value if detach is None else detach())


def finite(value):
    return value if value == value and abs(value) != float("inf") else None


class Series:
    """One series of one source and stage: where it is, and in which training of this process."""

    known = {}
    __slots__ = ("last", "training", "count", "finals", "is_between")

    def __init__(self):
        self.last, self.training, self.count, self.finals = None, 1, 0, []
        self.is_between = False  # whether values came between epochs, so that they are counted

    @classmethod
    def get(cls, *key):
        return cls.known.setdefault(key, cls())

    def follow(self, place):
        """Counts one value at `place`. Answers False for a repeated place, as of an evaluation after the training."""
        if place is not None and self.last is not None:
            if place == self.last:
                return False
            if place < self.last:
                self.training, self.count = self.training + 1, 0
        self.last = place
        self.count += 1
        return True


def value(source, series, raw, step=None, epoch=None, stage=None, after=False, counted=False, **more):
    """One value of a series. `epoch` counts finished epochs, from 1. `after` marks an evaluation outside of the training. A step that the library
    has `counted` itself may begin again in each process."""
    series = text(series)
    if CHOSEN is not None:
        if series == SERIES and source == SOURCE and STAGE in ("", stage) and not after:
            report(Series.get(source, stage, series), raw, epoch if epoch is not None else number(step), epoch, counted)
        return
    got = number(raw)
    if got is None:
        return
    step, epoch = (None if place is None else finite(place) for place in (number(step), number(epoch)))
    seen = Series.get(source, stage, series)
    if not after and not seen.follow(step if epoch is None else epoch):
        after = True
    if seen.count > LIMIT and seen.count % 100:
        return
    more.update(step=step, epoch=epoch, stage=stage, after=after or None)
    more = {name: held for name, held in more.items() if held is not None}
    emit("value", source=source, series=series, value=finite(got), training=seen.training, **more)


def report(seen, raw, place, epoch, counted):
    """For a search: one value of the chosen series, in the form of the trial protocol."""
    got = number(raw)
    if got is None or rank() != 0 or _is_other_process():
        return
    training = seen.training
    if not seen.follow(place):
        return
    if WAY == "mean":
        if not seen.finals:
            import atexit

            atexit.register(_report_mean, seen)
        elif seen.training != training:
            _report_mean(seen)
        if not seen.finals or seen.training != training:
            seen.finals.append(got)
        seen.finals[-1] = got
    elif FOLDS > 1:
        seen.is_between = seen.is_between or (epoch is not None and epoch != int(epoch))
        step = int(epoch) if epoch is not None and not seen.is_between else seen.count
        append_report({"step": step, SERIES: finite(got), "fold": seen.training}, None)
    elif seen.training == 1:
        seen.is_between = seen.is_between or (epoch is not None and epoch != int(epoch))
        place = None if place is None or begins_again(float(place), counted) else finite(float(place))
        step = int(epoch) if epoch is not None and not seen.is_between else next_step(place)
        _steps[0] = step
        append_report({"step": step, SERIES: finite(got)}, place)


def _report_mean(seen):
    """The mean over the last values of the trainings so far, as the value of one step per training."""
    append_report({"step": len(seen.finals), SERIES: finite(sum(seen.finals) / len(seen.finals))}, None)


#: the last step; the place of the last value of the training that this one continues; its places and their steps
_steps = [0, None, {}]
for _pair in filter(None, os.environ.get("FORETELL_HOOK_STEPS", "").split(",")):
    _step, _, _place = _pair.partition("=")
    _steps[0] = int(_step)
    if _place:
        _steps[1] = float(_place)
        _steps[2][float(_place)] = int(_step)


_again = []


def begins_again(place, counted):
    """Whether the places of a training that continues are counted from the beginning: then they say nothing."""
    if not _again:
        _again.append(bool(counted and _steps[2] and place <= min(_steps[2])))
    return _again[0]


def next_step(place):
    """The step of the next value. `place` may be a number of batches or of values: a training that continues has the steps of the one before at
    its places, and one for each value after them."""
    last, before, known = _steps
    _steps[1] = None
    if place in known:
        return known[place]
    if before is not None and place is not None and place > before and len(known) > 1:
        apart = before - sorted(known)[-2]
        ahead = (place - before) / apart if apart > 0 else 1.0
        if ahead == int(ahead):  # the values in between were lost with the training before
            return last + int(ahead)
    return last + 1


#: what isn't written yet, for example because the disk is full: it is written with the next value, or at the end
_unsent = bytearray()
_sending = RLock()
_refused, _at_end = [None], []


def append_report(fields, place):
    record = {"foretell": fields} if place is None else {"foretell": fields, "place": place}
    with _sending:  # of several threads
        _unsent.extend((to_json(record) + "\n").encode("utf-8", "replace"))
        send()


def send():
    """Writes what isn't written yet, as far as there is room."""
    try:
        if not _is_first_process():
            _unsent.clear()
        while _unsent:
            del _unsent[: append(bytes(_unsent))]
        _refused[0] = None
    except OSError as error:
        _refused[0] = error
    if _unsent and not _at_end:
        import atexit

        _at_end.append(atexit.register(send_last, os.getpid()))


def send_last(pid):
    """At the end, waits for room on a full disk, as Foretell does. Another error is shown, because it is why values are missing."""
    import time

    while _unsent and pid == os.getpid():
        send()
        error = _refused[0]
        if error is not None and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            os.write(2, ("foretell: cannot write the values of the trial: %s\n" % error).encode("utf-8", "replace"))
            return
        if _unsent:
            time.sleep(0.2)


_claims = {}


def _is_first_process():
    """Whether this is the process of this trial's start that reported first: two trainings are never merged."""
    pid = os.getpid()
    if pid not in _claims:
        claim = "%s.%s" % (PATH, os.environ.get("FORETELL_START", "first"))
        try:
            file = os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(file, str(pid).encode())
            except OSError:
                os.unlink(claim)  # left empty, it would silence the trial
                raise
            finally:
                os.close(file)
            _claims[pid] = True
        except FileExistsError:
            with open(claim) as file:
                _claims[pid] = file.read() == str(pid)
    return _claims[pid]


def _is_other_process():
    try:
        return not _is_first_process()
    except OSError:
        return False  # a full disk leaves it open: `send` tries again


def many(source, mapping, step=None, prefix="", **more):
    """Values by their names, as loggers take them; nested ones are joined by `/`."""
    for name, raw in pairs(mapping):
        if issubclass(type(raw), dict):
            many(source, raw, step, prefix + text(name) + "/", **more)
        else:
            value(source, prefix + text(name), raw, step, **more)
