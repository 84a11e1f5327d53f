/** The keyboard shortcuts of the review queue. */
import { useEffect, useRef } from 'react'

export type KeyAct = 'next' | 'previous' | 'approve' | 'decline' | 'help'

export const KEY_HELP: readonly (readonly [keys: string, what: string])[] = [
  ['j or ↓', 'Go to the next review'],
  ['k or ↑', 'Go to the previous review'],
  ['a', 'Approve the review (press Enter to confirm)'],
  ['d', 'Decline the review (write a note, press Enter to confirm)'],
  ['Escape', 'Cancel'],
  ['?', 'Show keyboard shortcuts'],
]

const ACTS: Readonly<Record<string, KeyAct>> = {
  j: 'next',
  ArrowDown: 'next',
  k: 'previous',
  ArrowUp: 'previous',
  a: 'approve',
  d: 'decline',
  '?': 'help',
}

/** Elements that use letters themselves: fields, menus and dialogs. */
const OTHERS = 'input, textarea, select, [contenteditable], [role="menu"], [role="dialog"], [role="listbox"]'
/** Elements that use the arrow keys themselves. */
const TAKES_ARROWS = '[role="tab"], [role="radio"], section[tabindex]'

interface Pressed {
  readonly key: string
  readonly target: EventTarget | null
  readonly repeat: boolean
  readonly ctrlKey: boolean
  readonly altKey: boolean
  readonly metaKey: boolean
  readonly shiftKey: boolean
}

/** Returns the action of a pressed key. Null for none. */
function actOf({ key, target, repeat, ctrlKey, altKey, metaKey, shiftKey }: Pressed): KeyAct | null {
  const act = ACTS[key]
  if (act === undefined || ctrlKey || altKey || metaKey) return null
  // On many keyboards, a question mark needs Shift.
  if (shiftKey && act !== 'help') return null
  const isMove = act === 'next' || act === 'previous'
  if (repeat && !isMove) return null
  if (!(target instanceof Element)) return act
  if (target.closest(OTHERS) !== null) return null
  return key.startsWith('Arrow') && target.closest(TAKES_ARROWS) !== null ? null : act
}

export function useReviewKeys(isOn: boolean, onAct: (act: KeyAct) => void): void {
  const latest = useRef(onAct)
  useEffect(() => {
    latest.current = onAct
  })
  useEffect(() => {
    if (!isOn) return
    const onKeyDown = (event: KeyboardEvent) => {
      const act = event.defaultPrevented ? null : actOf(event)
      if (act === null) return
      event.preventDefault()
      latest.current(act)
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [isOn])
}
