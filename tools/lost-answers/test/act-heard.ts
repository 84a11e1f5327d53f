import type { Bank } from './bank.js'
import type { Library } from './libraries.js'

const PATIENCE_MS = 500

/** Acts with little patience, and with more each time, until the other side has heard it: however slow the machine is. */
export async function actHeard(library: Library, bank: Bank, patienceMs = PATIENCE_MS): Promise<unknown> {
  try {
    return await library.act(bank, patienceMs)
  } catch (error) {
    if (bank.heard() > 0) throw error
    return actHeard(library, bank, 2 * patienceMs)
  }
}
