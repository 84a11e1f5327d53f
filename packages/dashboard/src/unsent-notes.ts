/** Keeps unsent notes about reviews. A note outlives the session in this tab, for the same key only. */
import { useState } from 'react'
import { useSession } from './session'

const PREFIX = 'unsent-note '

export interface UnsentNote {
  readonly text: string
  readonly write: (text: string) => void
}

export function useUnsentNote(decisionId: string): UnsentNote {
  const place = `${PREFIX}${useSession().key.id} ${decisionId}`
  const [text, setText] = useState(() => sessionStorage.getItem(place) ?? '')
  return {
    text,
    write(next) {
      setText(next)
      if (next.trim() === '') sessionStorage.removeItem(place)
      else sessionStorage.setItem(place, next)
    },
  }
}

/** Called when the user signs out. */
export function forgetUnsentNotes(): void {
  for (const place of Object.keys(sessionStorage)) if (place.startsWith(PREFIX)) sessionStorage.removeItem(place)
}
