package herd

import "math"

// Estimate is the mean of n independent repetitions and how sure it is. The
// interval is Student's: it assumes that a mean of n repetitions is normally
// distributed, which the central limit theorem makes nearly true for n ≥ 30.
type Estimate struct {
	N     int     `json:"n"`
	Mean  float64 `json:"mean"`
	SD    float64 `json:"standard_deviation"` // of one repetition; 0 for n = 1, as the error and the interval
	Error float64 `json:"standard_error"`     // SD / √n
	Low   float64 `json:"low"`                // of the 95 % interval
	High  float64 `json:"high"`
}

// estimate is the mean of values, of which there is at least one.
func estimate(values []float64) Estimate {
	m := Estimate{N: len(values)}
	n := float64(m.N)
	for _, v := range values {
		m.Mean += v // a sum of whole numbers is exact
	}
	m.Mean /= n
	if m.N < 2 {
		return m
	}
	for _, v := range values {
		m.SD += (v - m.Mean) * (v - m.Mean) / (n - 1)
	}
	m.SD = math.Sqrt(m.SD)
	m.Error = m.SD / math.Sqrt(n)
	half := studentQuantile(m.N-1) * m.Error
	m.Low, m.High = m.Mean-half, m.Mean+half
	return m
}

// studentQuantile is t with P(|T| ≤ t) = 95 % for Student's distribution with
// so many degrees of freedom, found by bisection.
func studentQuantile(freedom int) float64 {
	low, high := 0.0, 13.0 // 12.71 for one degree
	for range 60 {
		if mid := (low + high) / 2; studentCentral(mid, freedom) < 0.95 {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// studentCentral is P(|T| ≤ t): the finite series of Abramowitz and Stegun,
// Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4.
func studentCentral(t float64, freedom int) float64 {
	theta := math.Atan(t / math.Sqrt(float64(freedom)))
	sin, cos := math.Sincos(theta)
	sum := 0.0
	if freedom%2 == 1 {
		term := cos
		for i := 1; i <= freedom-2; i += 2 {
			sum += term
			term *= cos * cos * float64(i+1) / float64(i+2)
		}
		return 2 / math.Pi * (theta + sin*sum)
	}
	term := 1.0
	for i := 0; i <= freedom-2; i += 2 {
		sum += term
		term *= cos * cos * float64(i+1) / float64(i+2)
	}
	return sin * sum
}
