//! Tracebacks of Python: they show lines of source, whose numbers nobody reported.

/// Knows which lines belong to a traceback.
#[derive(Clone, Debug, Default)]
pub(super) struct TracebackTracker {
    is_open: bool,
}

impl TracebackTracker {
    /// Whether `line`, the one after those that it was asked about before, belongs to a traceback.
    pub(super) fn contains(&mut self, line: &[u8]) -> bool {
        const TRACEBACK_HEADING: &[u8] = b"Traceback (most recent call last):";
        if line.trim_ascii_end().ends_with(TRACEBACK_HEADING) {
            self.is_open = true;
            return true;
        }
        if !self.is_open {
            return false;
        }
        let is_inside = line.first().is_none_or(u8::is_ascii_whitespace);
        self.is_open = is_inside;
        // other processes print between the lines of a traceback, so that the line after it may be a report
        is_inside || is_exception_line(line)
    }
}

/// Whether a line shows an exception, such as `ValueError: loss=1` or `torch.cuda.OutOfMemoryError: …`.
fn is_exception_line(line: &[u8]) -> bool {
    let name = line.split(|&byte| byte == b':').next().unwrap_or_default().trim_ascii_end();
    let last = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(byte));
    is_name && last.first().is_some_and(u8::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use crate::printed::{MetricSource, ReportReader};

    #[test]
    fn no_value_comes_from_the_source_lines_of_a_traceback() {
        let text = "epoch 1 loss=0.5\nTraceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    log(f\"epoch {e} loss=1\", epoch=9)\n    ^^^^^^^^^^^^^\nValueError: epoch 4 loss=2\nepoch 2 loss=0.4\n";
        let reports = ReportReader::new(MetricSource::parse("loss").expect("a name"), 0).read_lines(text);
        let values: Vec<f64> = reports.iter().filter_map(|report| report.value).collect();
        assert_eq!(values, [0.5, 0.4]);
    }

    #[test]
    fn a_report_of_another_process_ends_a_traceback() {
        let text = "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nepoch 1 loss=0.5\nepoch 2 loss=0.4\n";
        let reports = ReportReader::new(MetricSource::parse("loss").expect("a name"), 0).read_lines(text);
        assert_eq!(reports.iter().filter_map(|report| report.value).collect::<Vec<_>>(), [0.5, 0.4]);
    }
}
