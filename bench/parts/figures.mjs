export function median(values) {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}

/**
 * Measures cases in rounds. Each round begins with another case, so that none always goes first; ratios of two cases are
 * taken inside a round, so that a busy machine slows both alike.
 *
 * @param cases functions by name that answer a figure
 * @returns for each name a figure a round
 */
export async function inTurns(rounds, cases) {
  const entries = Object.entries(cases)
  const figures = Object.fromEntries(entries.map(([name]) => [name, []]))
  for (let round = -1; round < rounds; round += 1) {
    for (let i = 0; i < entries.length; i += 1) {
      const [name, measure] = entries[(i + round + entries.length) % entries.length]
      const figure = await measure()
      // The round before the first one warms up.
      if (round >= 0) figures[name].push(figure)
    }
  }
  return figures
}

/** The median of the ratios of two cases. */
export function ratioOf(figures, against) {
  return median(figures.map((figure, round) => figure / against[round]))
}
