const DAY_MS = 86_400_000

/** `own`: with the key of the session. `at`: at a time that is given. */
export type ExpiryChoice = 'never' | 'own' | '30' | '90' | '365' | 'at'

/**
 * What can be chosen. No key can make one that lives longer than itself.
 *
 * @param ownEnd when the key of the session expires
 */
export function expiryChoices(ownEnd: string | null, nowMs: number): { value: ExpiryChoice; label: string }[] {
  const days = (['30', '90', '365'] as const).filter(
    (value) => ownEnd === null || nowMs + Number(value) * DAY_MS < Date.parse(ownEnd),
  )
  return [
    ownEnd === null ? { value: 'never', label: 'Never' } : { value: 'own', label: 'Together with your key' },
    ...days.map((value) => ({ value, label: `In ${value} days` })),
    { value: 'at', label: 'At a time …' },
  ]
}

/** @param at the time that was given */
export function endOf(choice: ExpiryChoice, at: string | null, ownEnd: string | null, nowMs: number): string | null {
  if (choice === 'never') return null
  if (choice === 'own') return ownEnd
  return choice === 'at' ? at : new Date(nowMs + Number(choice) * DAY_MS).toISOString()
}
