package stats

import (
	"fmt"
	"math/big"
	"strconv"
)

// PercentUp writes a rate as a percentage, rounded up: what is shown of an upper
// bound is still one. It shows two decimals, and below 1 % three digits that
// count: "39.31 %", "0.300 %", "1.23e-09 %".
//
// Of the rate thirteen digits are used, as many as the bounds of this package are
// good for: 0.95 computed as 0.9500000000000001 is "95.00 %".
func PercentUp(rate float64) string { return percent(rate, +1) }

// PercentDown is PercentUp for lower bounds: rounded down.
func PercentDown(rate float64) string { return percent(rate, -1) }

// Percent rounds to the nearest.
func Percent(rate float64) string { return percent(rate, 0) }

func percent(rate float64, direction int) string {
	checkRate("Percent", rate)
	text := strconv.FormatFloat(rate, 'e', 12, 64)
	exact, _ := new(big.Rat).SetString(text)
	exponent, _ := strconv.Atoi(text[len("0.000000000000e"):])
	decimals := max(2, -exponent)
	if rate == 0 {
		decimals = 2
	}
	units := round(exact, decimals+2, direction)
	if decimals > 9 {
		if units == 1000 {
			units, decimals = 100, decimals-1
		}
		return fmt.Sprintf("%d.%02de-%02d %%", units/100, units%100, decimals-2)
	}
	digits := fmt.Sprintf("%0*d", decimals+1, units)
	return digits[:len(digits)-decimals] + "." + digits[len(digits)-decimals:] + " %"
}

// round is x in units of 10^-decimals.
func round(x *big.Rat, decimals, direction int) int64 {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	rest := new(big.Int)
	units, rest := new(big.Int).QuoRem(scale.Mul(scale, x.Num()), x.Denom(), rest)
	up := direction > 0 && rest.Sign() > 0
	if direction == 0 {
		up = rest.Lsh(rest, 1).Cmp(x.Denom()) >= 0
	}
	if up {
		return units.Int64() + 1
	}
	return units.Int64()
}
