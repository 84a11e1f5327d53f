import { CallNames } from './call-names.js'
import { hashOfText } from './sha256.js'

/** Takes any text: the hash of it is sent where the wire does not accept the text itself. */
class HashedNames extends CallNames {
  protected override replaced(text: string): string {
    return hashOfText(text)
  }
}

export const HASHED_NAMES: CallNames = new HashedNames()
