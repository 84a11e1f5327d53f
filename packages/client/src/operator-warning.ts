import { printable } from './errors/printable.js'

/** The part of a runtime like Node that warns the operator. */
interface WarningProcess {
  emitWarning(message: string, options: { type: string; code: string; detail: string }): void
}

const MAX_LENGTH = 1_000
/** More kinds than there are, so that a mistake in counting them cannot fill the memory. */
const MAX_KINDS = 256
/** The most warnings of one code, which leaves room for the others. */
const MAX_PLACES = 32
const DETAIL =
  'This warning appears once per process. The option onEvent gets every event; see docs/troubleshooting.md.'

const saidKinds = new Set<string>()
const placesOf = new Map<string, number>()

/**
 * Reports a fault that only the operator can fix, once per process and kind: on Node as a process warning named
 * `CountersignWarning`, elsewhere on the console. Never throws. What looks like an API key or a permit is left out.
 *
 * @param code of the kind, such as `COUNTERSIGN_WRONG_KEY`; listed in docs/troubleshooting.md
 * @param message what is wrong and how to fix it
 * @param place tells kinds of the same code apart; never anything that a caller chooses
 */
export function warnOperator(code: string, message: string, place = ''): void {
  const kind = `${code} ${place}`
  const places = placesOf.get(code) ?? 0
  if (saidKinds.has(kind) || saidKinds.size >= MAX_KINDS || places >= MAX_PLACES) return
  saidKinds.add(kind)
  placesOf.set(code, places + 1)
  const text = printable(message, MAX_LENGTH)
  try {
    const here = globalThis.process as unknown as Partial<WarningProcess> | undefined
    if (typeof here?.emitWarning === 'function') {
      here.emitWarning(text, { type: 'CountersignWarning', code, detail: DETAIL })
    } else {
      globalThis.console?.warn(`CountersignWarning [${code}]: ${text}\n${DETAIL}`)
    }
  } catch {
    // The operator cannot be reached.
  }
}
