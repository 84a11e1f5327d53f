import type { BudgetPeriod } from '@countersign/contract'

/** A period of a budget: from `starts_at` until just before `resets_at`, in UTC; both null for `total`. */
export interface PeriodBounds {
  readonly starts_at: string | null
  readonly resets_at: string | null
}

/** Returns the calendar period that contains this moment. Weeks start on Monday. */
export function periodAt(period: BudgetPeriod, at: Date): PeriodBounds {
  const year = at.getUTCFullYear()
  const month = at.getUTCMonth()
  const day = at.getUTCDate()
  switch (period) {
    case 'hourly': {
      const hour = at.getUTCHours()
      return between(Date.UTC(year, month, day, hour), Date.UTC(year, month, day, hour + 1))
    }
    case 'daily':
      return between(Date.UTC(year, month, day), Date.UTC(year, month, day + 1))
    case 'weekly': {
      const monday = day - ((at.getUTCDay() + 6) % 7)
      return between(Date.UTC(year, month, monday), Date.UTC(year, month, monday + 7))
    }
    case 'monthly':
      return between(Date.UTC(year, month), Date.UTC(year, month + 1))
    case 'yearly':
      return between(Date.UTC(year), Date.UTC(year + 1))
    case 'total':
      return { starts_at: null, resets_at: null }
  }
}

function between(start: number, end: number): PeriodBounds {
  return { starts_at: new Date(start).toISOString(), resets_at: new Date(end).toISOString() }
}
