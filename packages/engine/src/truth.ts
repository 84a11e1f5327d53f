/** Kleene's three values as numbers: `and` is the minimum, `or` the maximum, `not` the difference from TRUE. */
export type Truth = 0 | 1 | 2

export const FALSE = 0
export const UNKNOWN = 1
export const TRUE = 2

export function truthOf(holds: boolean): Truth {
  return holds ? TRUE : FALSE
}

/** The negation; unknown stays unknown. */
export function not(truth: Truth): Truth {
  return (TRUE - truth) as Truth
}
