/**
 * The probability that counts differ so much from equally likely ones by chance alone: the upper tail of chi-square, by
 * Wilson and Hilferty.
 */
export function chance(counts: ArrayLike<number>, expected: (index: number) => number): number {
  let sum = 0;
  for (let index = 0; index < counts.length; index += 1) {
    sum += (counts[index]! - expected(index)) ** 2 / expected(index);
  }
  const degrees = counts.length - 1;
  const spread = 2 / (9 * degrees);
  return upperTail((Math.cbrt(sum / degrees) - (1 - spread)) / Math.sqrt(spread));
}

/** Of the normal distribution, by Abramowitz and Stegun 26.2.17. */
function upperTail(z: number): number {
  if (z < 0) return 1 - upperTail(-z);
  const t = 1 / (1 + 0.2316419 * z);
  const terms = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const series = terms.reduceRight((rest, term) => (rest + term) * t, 0);
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
}
