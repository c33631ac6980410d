//! The points of a series that count, in little memory: steps that are evenly spaced are no list.

use super::point::LoggedPoint;

/// The resource that curves are laid on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CurveResource {
    Epoch,
    Step,
    Time,
}

impl CurveResource {
    /// The resource that `--resource` names.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "epoch" => Some(Self::Epoch),
            "step" => Some(Self::Step),
            "time" => Some(Self::Time),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Epoch => "epoch",
            Self::Step => "step",
            Self::Time => "time",
        }
    }
}

/// Numbers in their order.
#[derive(Clone, Debug, PartialEq)]
enum NumberSequence {
    /// `first + by · k`, each exact.
    Even {
        first: f64,
        by: f64,
    },
    Listed(Box<[f64]>),
}

impl NumberSequence {
    fn pack(numbers: Vec<f64>) -> Self {
        let first = numbers.first().copied().unwrap_or(0.0);
        let by = numbers.get(1).map_or(0.0, |second| second - first);
        let even = Self::Even { first, by };
        // by their bits, because the points must come back as they were logged
        let is_even =
            numbers.iter().enumerate().all(|(at, number)| even.get(at).to_bits() == number.to_bits());
        if is_even { even } else { Self::Listed(numbers.into()) }
    }

    fn get(&self, at: usize) -> f64 {
        match self {
            Self::Even { first, by } => first + by * at as f64,
            Self::Listed(numbers) => numbers[at],
        }
    }
}

/// The points of a series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PackedSeries {
    values: Box<[f64]>,
    steps: NumberSequence,
    /// `None` if no point has one.
    epochs: Option<NumberSequence>,
    /// Kept only where curves are laid on time.
    times: Option<NumberSequence>,
    /// The median seconds for a step and for an epoch.
    paces: [Option<f64>; 2],
    replaced: usize,
}

impl PackedSeries {
    pub(crate) fn new(
        points: &[LoggedPoint],
        replaced: usize,
        paces: [Option<f64>; 2],
        keep_times: bool,
    ) -> Self {
        Self {
            values: points.iter().map(|point| point.value).collect(),
            steps: NumberSequence::pack(points.iter().map(|point| point.step).collect()),
            epochs: pack_known(points.iter().map(|point| point.epoch)),
            times: pack_known(points.iter().map(|point| point.time)).filter(|_| keep_times),
            paces,
            replaced,
        }
    }

    /// The points, as they were before.
    pub(crate) fn points(&self) -> impl Iterator<Item = LoggedPoint> + '_ {
        self.values.iter().enumerate().map(move |(at, &value)| LoggedPoint {
            step: self.steps.get(at),
            epoch: self.epochs.as_ref().map(|epochs| epochs.get(at)).filter(|epoch| !epoch.is_nan()),
            time: self.times.as_ref().map(|times| times.get(at)).filter(|time| !time.is_nan()),
            value,
        })
    }

    /// Whether a point has an epoch.
    pub(crate) fn has_epochs(&self) -> bool {
        self.epochs.is_some()
    }

    /// Whether it is known how long a step took.
    pub(crate) fn has_pace(&self) -> bool {
        self.paces[0].is_some()
    }

    /// The number of values later ones replaced.
    pub(crate) fn replaced_count(&self) -> usize {
        self.replaced
    }

    /// The median seconds for a unit of the resource.
    pub(crate) fn pace(&self, resource: CurveResource) -> Option<f64> {
        match resource {
            CurveResource::Step => self.paces[0],
            CurveResource::Epoch => self.paces[1],
            CurveResource::Time => None,
        }
    }
}

/// `None` if no point has a number. Inside this file NaN stands for a point that has none.
fn pack_known(numbers: impl Iterator<Item = Option<f64>> + Clone) -> Option<NumberSequence> {
    let has_number = numbers.clone().any(|number| number.is_some());
    has_number.then(|| NumberSequence::pack(numbers.map(|number| number.unwrap_or(f64::NAN)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_points_are_bit_by_bit_those_that_were_packed() {
        let even = |at: usize| LoggedPoint {
            step: 10.0 * at as f64,
            epoch: Some(at as f64),
            time: None,
            value: 0.1,
        };
        let odd = |at: usize| LoggedPoint { step: (at * at) as f64, time: Some(at as f64 / 3.0), ..even(at) };
        let gappy =
            |at: usize| LoggedPoint { epoch: (!at.is_multiple_of(3)).then_some(at as f64), ..even(at) };
        for point in [&even, &odd, &gappy] as [&dyn Fn(usize) -> LoggedPoint; 3] {
            for count in [0, 1, 2, 50] {
                let points: Vec<LoggedPoint> = (0..count).map(point).collect();
                let packed = PackedSeries::new(&points, 0, [None; 2], true);
                assert_eq!(packed.points().collect::<Vec<_>>(), points);
            }
        }
        let points: Vec<LoggedPoint> = (0..9).map(even).collect();
        assert!(matches!(PackedSeries::new(&points, 0, [None; 2], true).steps, NumberSequence::Even { .. }));
    }
}
