/** The list of decisions: pages from the server, preceded by what has happened since. */
import type { DecisionDetail, Page } from '@countersign/contract'
import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { type DecisionFilters, listDecisions } from '../../api/decisions'
import { useLive } from '../../live'
import { useMay } from '../../session'
import { matches } from './matches'

/** The fields that a row shows. Both lists and events contain them. */
export type DecisionRow = Pick<
  DecisionDetail,
  | 'id'
  | 'effect'
  | 'status'
  | 'reason'
  | 'reason_code'
  | 'policy_id'
  | 'rule'
  | 'agent_id'
  | 'action'
  | 'resource'
  | 'evaluated_at'
>

const PAGE_SIZE = 100
/** The most new rows that are kept. After that, the list is read again. */
export const MOST_ARRIVED = 1_000

export interface LiveList {
  readonly rows: readonly DecisionRow[]
  /** How many decisions are new or have changed during a pause; at most `MOST_ARRIVED` + 1. */
  readonly waiting: number
  readonly query: {
    readonly isPending: boolean
    readonly error: Error | null
    readonly refetch: () => unknown
  }
  readonly loadMore: (() => void) | null
  readonly isLoadingMore: boolean
}

export function useLiveList(filters: DecisionFilters, isPaused: boolean): LiveList {
  const client = useQueryClient()
  const mayRead = useMay()('decisions:read')
  const live = useLive()
  const queryKey = useMemo(() => ['decision-list', filters] as const, [filters])
  const query = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => listDecisions({ ...filters, limit: PAGE_SIZE, cursor: pageParam }, signal),
    getNextPageParam: (page: Page<DecisionDetail>) => page.next_cursor ?? undefined,
    enabled: mayRead,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const held = useRef(new Map<string, DecisionRow>())
  const [waiting, setWaiting] = useState(0)
  const [arrived, setArrived] = useState<ReadonlyMap<string, DecisionRow>>(new Map())

  const forget = useCallback(() => {
    held.current = new Map()
    setWaiting(0)
    setArrived(new Map())
  }, [])
  /** Reads the list again from the first page. */
  const readAnew = useCallback(() => {
    forget()
    client.setQueryData<InfiniteData<unknown>>(queryKey, (data) => data && firstPageOf(data))
    void client.invalidateQueries({ queryKey })
  }, [forget, client, queryKey])

  // Changes that arrived for other filters do not apply.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is what the effect is about
  useEffect(forget, [queryKey])

  useEffect(() => {
    if (!isPaused && held.current.size > 0) {
      const rows = held.current
      held.current = new Map()
      setWaiting(0)
      setArrived((before) => new Map([...before, ...rows]))
    }
    return live.listen(({ data }) => {
      if (!isPaused) return setArrived((before) => new Map(before).set(data.id, data))
      // With too many changes, the list is read again when the user resumes.
      if (held.current.size > MOST_ARRIVED || !matches(data, filters)) return
      held.current.set(data.id, data)
      setWaiting(held.current.size)
    })
  }, [live, isPaused, filters])

  // Fetches what happened while no events arrived.
  const wasConnected = useRef(live.isConnected)
  useEffect(() => {
    if (live.isConnected && !wasConnected.current) readAnew()
    wasConnected.current = live.isConnected
  }, [live.isConnected, readAnew])

  useEffect(() => {
    if (arrived.size > MOST_ARRIVED) readAnew()
  }, [arrived, readAnew])

  const rows = useMemo(() => merged(query.data?.pages ?? [], arrived, filters), [query.data, arrived, filters])
  return {
    rows,
    waiting,
    query: { isPending: query.isPending, error: query.error, refetch: query.refetch },
    // After an error, the list starts again from the first page.
    loadMore: query.hasNextPage && !query.isError ? () => void query.fetchNextPage() : null,
    isLoadingMore: query.isFetchingNextPage,
  }
}

function firstPageOf({ pages, pageParams }: InfiniteData<unknown>): InfiniteData<unknown> {
  return { pages: pages.slice(0, 1), pageParams: pageParams.slice(0, 1) }
}

/** Merges pages and new rows, newest first. Each decision appears once, in its newest state. A new row older than the list is left out. */
export function merged(
  pages: readonly Page<DecisionRow>[],
  arrived: ReadonlyMap<string, DecisionRow>,
  filters: DecisionFilters,
): DecisionRow[] {
  const listed = pages.flatMap(({ data }) => data)
  const known = new Set(listed.map(({ id }) => id))
  const end = pages.at(-1)?.next_cursor === null ? undefined : listed.at(-1)
  const isWithin = (row: DecisionRow) => end === undefined || positionOf(row) > positionOf(end)
  const fresh = [...arrived.values()].filter((row) => !known.has(row.id) && matches(row, filters) && isWithin(row))
  const present = listed.map((row) => arrived.get(row.id) ?? row).filter((row) => matches(row, filters))
  return [...fresh, ...present].sort((one, other) => (positionOf(one) < positionOf(other) ? 1 : -1))
}

/** Returns a text that sorts decisions from the oldest to the newest. */
function positionOf({ evaluated_at, id }: DecisionRow): string {
  return evaluated_at + id
}
