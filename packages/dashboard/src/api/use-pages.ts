import type { Page, Scope } from '@countersign/contract'
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useMay } from '../session'

export interface Pages<Row> {
  /** The rows of all loaded pages. */
  readonly rows: readonly Row[]
  readonly isPending: boolean
  readonly isRefetching: boolean
  readonly error: Error | null
  readonly refetch: () => unknown
  /** Null when there are no more rows, and after an error, which restarts the list. */
  readonly loadMore: (() => void) | null
  readonly isLoadingMore: boolean
}

export interface PagesOptions<Row> {
  readonly queryKey: QueryKey
  readonly read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>
  /** The scope that the session's key needs for this list. */
  readonly scope: Scope
  /** How often the list is read again, while only a few pages are loaded. */
  readonly refreshMs?: number
}

/** With more pages than this, the list is not read again automatically. */
const FEW_PAGES = 3

/** Reads a list of the server page by page. */
export function usePages<Row>({ queryKey, read, scope, refreshMs }: PagesOptions<Row>): Pages<Row> {
  const mayRead = useMay()(scope)
  const query = useInfiniteQuery({
    queryKey,
    enabled: mayRead,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    getNextPageParam: (page: Page<Row>) => page.next_cursor ?? undefined,
    refetchInterval: ({ state }) => (refreshMs !== undefined && isShort(state.data) ? refreshMs : false),
  })
  const rows = useMemo(() => query.data?.pages.flatMap(({ data }) => data) ?? [], [query.data])
  return {
    rows,
    isPending: query.isPending,
    isRefetching: query.isRefetching,
    error: query.error,
    refetch: query.refetch,
    loadMore: query.hasNextPage && !query.isError ? () => void query.fetchNextPage() : null,
    isLoadingMore: query.isFetchingNextPage,
  }
}

function isShort(data: { readonly pages: readonly unknown[] } | undefined): boolean {
  return data === undefined || data.pages.length <= FEW_PAGES
}
