"""The values that a script passes to its libraries, as series: each with its steps, told from other trainings of the run."""
import os

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


def value(source, series, raw, step=None, epoch=None, stage=None, after=False, **more):
    """One value of a series. `epoch` counts finished epochs, from 1. `after` marks an evaluation outside of the training."""
    series = text(series)
    if CHOSEN is not None:
        if series == SERIES and source == SOURCE and STAGE in ("", stage) and not after:
            report(Series.get(source, stage, series), raw, epoch if epoch is not None else number(step), epoch)
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


def report(seen, raw, place, epoch):
    """For a search: one value of the chosen series, in the form of the trial protocol."""
    got = number(raw)
    if got is None or rank() != 0 or not _is_first_process():
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
    elif seen.training == 1 or FOLDS > 1:
        fields = {SERIES: finite(got)}
        seen.is_between = seen.is_between or (epoch is not None and epoch != int(epoch))
        if epoch is not None and not seen.is_between:
            fields["step"] = int(epoch)
            if FOLDS > 1:
                fields["fold"] = seen.training
        append_report(fields)


def _report_mean(seen):
    """The mean over the last values of the trainings so far, as the value of one step per training."""
    append_report({"step": len(seen.finals), SERIES: finite(sum(seen.finals) / len(seen.finals))})


def append_report(fields):
    append(to_json({"foretell": fields}) + "\n")


_claims = {}


def _is_first_process():
    """Whether this is the process of this trial's start that reported first: two trainings are never merged."""
    pid = os.getpid()
    if pid not in _claims:
        claim = "%s.%s" % (PATH, os.environ.get("FORETELL_START", "first"))
        try:
            file = os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(file, str(pid).encode())
            os.close(file)
            _claims[pid] = True
        except FileExistsError:
            with open(claim) as file:
                _claims[pid] = file.read() == str(pid)
    return _claims[pid]


def many(source, mapping, step=None, prefix="", **more):
    """Values by their names, as loggers take them; nested ones are joined by `/`."""
    for name, raw in pairs(mapping):
        if issubclass(type(raw), dict):
            many(source, raw, step, prefix + text(name) + "/", **more)
        else:
            value(source, prefix + text(name), raw, step, **more)
