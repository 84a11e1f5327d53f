import type { Stats, StatsGroup, StatsInterval } from '@countersign/contract'
import { call } from './client'

export interface StatsQuery {
  readonly from?: string
  readonly to?: string
  readonly interval: StatsInterval
  readonly group?: StatsGroup
}

export const getStats = (query: StatsQuery): Promise<Stats> => call('stats.get', { query })
