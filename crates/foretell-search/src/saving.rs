//! The saving by stopping: the epochs of trials without it over their epochs with it, in one place for searches and replays.

/// The epochs of some trials, with and without stopping.
///
/// A training that diverged counts on both sides up to where that was seen, since whoever watches it ends it there: ending it is no
/// merit of a stop rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saving {
    /// Epochs trained.
    pub spent: u64,
    /// Epochs that the same trials would have taken without stopping.
    pub without_stopping: u64,
}

impl Saving {
    /// `without_stopping` over `spent`; 1 where nothing was trained.
    ///
    /// ```
    /// use foretell_search::Saving;
    /// let saving = Saving { spent: 40, without_stopping: 100 };
    /// assert_eq!((saving.times(), saving.share()), (2.5, 0.6));
    /// ```
    pub fn times(self) -> f64 {
        if self.spent == 0 { 1.0 } else { self.without_stopping as f64 / self.spent as f64 }
    }

    /// The share of the training that is saved.
    pub fn share(self) -> f64 {
        1.0 - 1.0 / self.times()
    }

    /// Of several studies: how many times less training in all, total over total, and its standard error over the studies.
    ///
    /// With r = Σ w / Σ s, where w is what a study takes without stopping and s what it spent, the error is that of a ratio of sums,
    /// √(n/(n − 1) · Σ (w − r·s)²) / Σ s; 0 for one study.
    ///
    /// ```
    /// use foretell_search::Saving;
    /// let saving = |spent| Saving { spent, without_stopping: 100 };
    /// let (times, error) = Saving::total(&[saving(25), saving(100)]);
    /// assert_eq!(times, 1.6); // 200 / 125: not (4 + 1)/2 = 2.5
    /// // residuals 100 − 1.6 · 25 = 60 and 100 − 160 = −60
    /// assert!((error - (2.0_f64 * 2.0 * 60.0 * 60.0).sqrt() / 125.0).abs() < 1e-12);
    /// ```
    pub fn total(savings: &[Self]) -> (f64, f64) {
        let sum = |of: fn(&Self) -> u64| savings.iter().map(of).sum::<u64>();
        let all = Self { spent: sum(|s| s.spent), without_stopping: sum(|s| s.without_stopping) };
        let (times, n) = (all.times(), savings.len() as f64);
        let residual = |s: &Self| (s.without_stopping as f64 - times * s.spent as f64).powi(2);
        let squares: f64 = savings.iter().map(residual).sum();
        let error = if savings.len() < 2 { 0.0 } else { (n / (n - 1.0) * squares).sqrt() };
        (times, error / all.spent.max(1) as f64)
    }
}
