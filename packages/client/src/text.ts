/**
 * `@countersign/client/text`: makes foreign text safe to show, splits a stream into lines, and says when to call again.
 * For command lines and logs.
 *
 * Source: docs/enforcement.md "Write an integration".
 */
export { printable } from './errors/printable.js'
export { reviewerWords } from './errors/reviewer-words.js'
export { LinesError, linesOf } from './lines.js'
export { isRetryableStatus, parseRetryAfter, retryDelayMs } from './retry.js'
