/**
 * How the fault of a program shows in an error. The fault may lie in reading an answer, after the other side has acted:
 * `answer.receipt.id` of an answer without a receipt.
 */

/** The errors of JavaScript itself, and of assertions. */
const CLASSES = /^(?:eval|range|reference|syntax|type|uri|assertion)error$/i

/** @param name of a class, or a code or type instead */
export function isProgramFault(name: string): boolean {
  return CLASSES.test(name)
}

/** Patterns of the texts of V8 and Python, for errors whose class is lost. */
export const PROGRAM_FAULT_WORDS: readonly string[] = [
  '\\bcannot (?:read|set) propert(?:y|ies) of (?:undefined|null)',
  '\\bcannot destructure property\\b',
  "\\bcannot access '[^']{1,100}' before initialization",
  '\\bis not (?:a function|a constructor|iterable)\\b',
  '^(?:error: )?[\\w$]{1,100} is not defined$',
  '\\bmaximum call stack\\b',
  '\\bobject (?:has no attribute|is not (?:subscriptable|iterable|callable))\\b',
]
