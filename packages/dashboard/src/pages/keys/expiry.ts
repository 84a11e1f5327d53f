const DAY_MS = 86_400_000

/** `own`: together with the session's key. `at`: at a given time. */
export type ExpiryChoice = 'never' | 'own' | '30' | '90' | '365' | 'at'

/**
 * Returns the choices. A key cannot create one that outlives it.
 *
 * @param ownEnd when the session's key expires
 */
export function expiryChoices(ownEnd: string | null, nowMs: number): { value: ExpiryChoice; label: string }[] {
  const days = (['30', '90', '365'] as const).filter(
    (value) => ownEnd === null || nowMs + Number(value) * DAY_MS < Date.parse(ownEnd),
  )
  return [
    ownEnd === null ? { value: 'never', label: 'Never' } : { value: 'own', label: 'When your key expires' },
    ...days.map((value) => ({ value, label: `In ${value} days` })),
    { value: 'at', label: 'At a specific time …' },
  ]
}

/** @param at the given time */
export function endOf(choice: ExpiryChoice, at: string | null, ownEnd: string | null, nowMs: number): string | null {
  if (choice === 'never') return null
  if (choice === 'own') return ownEnd
  return choice === 'at' ? at : new Date(nowMs + Number(choice) * DAY_MS).toISOString()
}
