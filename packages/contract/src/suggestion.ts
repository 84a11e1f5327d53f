/** A longer name is not a typo, and comparing it would cost more than it helps. */
const LONGEST = 40

/** Returns the number of edits (insert, delete, replace, swap of neighbours) that turn one text into another. */
function distance(left: string, right: string): number {
  let before: number[] = []
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1]
      let least = Math.min(previous[column]! + 1, current[column - 1]! + 1, previous[column - 1]! + (isSame ? 0 : 1))
      if (row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1])
        least = Math.min(least, before[column - 2]! + 1)
      current.push(least)
    }
    before = previous
    previous = current
  }
  return previous[right.length]!
}

/** Returns `; did you mean context?` when one of the names is close to the text, otherwise an empty text. */
export function didYouMean(text: string, names: readonly string[]): string {
  if (text.length > LONGEST) return ''
  let nearest: string | null = null
  let least = Number.POSITIVE_INFINITY
  for (const name of names) {
    const most = name.length / 3
    if (Math.abs(name.length - text.length) > most) continue
    const edits = distance(text.toLowerCase(), name.toLowerCase())
    if (edits < least && edits <= most) {
      least = edits
      nearest = name
    }
  }
  return nearest === null ? '' : `; did you mean ${nearest}?`
}
