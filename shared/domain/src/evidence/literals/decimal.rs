//! Exact non-negative decimal numbers: equality after unit conversion must not depend on floating point.

/// `mantissa × 10^exponent`, without trailing zeros in the mantissa, so that equal numbers are equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Decimal {
    mantissa: u128,
    exponent: i32,
}

/// More digits than any measure has; longer runs are ids.
const MAX_DIGITS: usize = 30;

impl Decimal {
    pub(super) fn new(mantissa: u128, exponent: i32) -> Self {
        let (mut mantissa, mut exponent) = (mantissa, exponent);
        if mantissa == 0 {
            return Self { mantissa, exponent: 0 };
        }
        while mantissa % 10 == 0 {
            mantissa /= 10;
            exponent += 1;
        }
        Self { mantissa, exponent }
    }

    /// `whole` and `fraction` are ASCII digits. `None` if there are none or too many.
    pub(super) fn parse(whole: &str, fraction: &str) -> Option<Self> {
        if whole.len() + fraction.len() > MAX_DIGITS {
            return None;
        }
        let mantissa = format!("{whole}{fraction}").parse().ok()?;
        Some(Self::new(mantissa, -i32::try_from(fraction.len()).ok()?))
    }

    pub(super) fn times(self, factor: u64) -> Option<Self> {
        Some(Self::new(self.mantissa.checked_mul(u128::from(factor))?, self.exponent))
    }

    /// This number times `10^by`.
    pub(super) fn shifted(self, by: i32) -> Self {
        Self::new(self.mantissa, self.exponent.saturating_add(by))
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let at = |n: Self| {
            let up = 10u128.checked_pow(n.exponent.abs_diff(exponent))?;
            n.mantissa.checked_mul(up)
        };
        Some(Self::new(at(self)?.checked_add(at(other)?)?, exponent))
    }

    /// The number as an integer, if it is one below 10^18.
    pub(super) fn integer(self) -> Option<u64> {
        let up = 10u128.checked_pow(u32::try_from(self.exponent).ok()?)?;
        let value = self.mantissa.checked_mul(up)?;
        u64::try_from(value).ok().filter(|v| *v < 1_000_000_000_000_000_000)
    }

    /// Whether the number has digits behind the decimal point.
    pub(super) fn is_fractional(self) -> bool {
        self.exponent < 0
    }

    pub(super) fn at_least_ten(self) -> bool {
        self.integer().map_or(self.exponent > 0 || self.mantissa >= 10, |v| v >= 10)
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        Self::new(u128::from(value), 0)
    }
}
