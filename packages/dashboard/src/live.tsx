/** What happens to decisions, as it happens: one stream of events for the whole window. */
import type { LiveEvent } from '@countersign/contract'
import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { get, urlOf } from './api/client'
import { useMay } from './session'

type Listener = (event: LiveEvent) => void

interface Live {
  /** Whether events arrive now. */
  readonly isConnected: boolean
  /** @returns ends it */
  readonly listen: (listener: Listener) => () => void
}

const LiveContext = createContext<Live | null>(null)

/** So often lists are read again at most, however much happens. */
const REFRESH_MS = 1_000
/** After a refusal the stream is opened again, each time later. */
const REOPEN_MS = { first: 1_000, most: 30_000 }
/** What a change of any decision can change. A page that shows one decision is told of that one alone. */
const REFRESHED = ['decisions', 'reviews', 'budgets', 'stats', 'agents']

export function LiveEvents({ children }: { readonly children: ReactNode }) {
  const mayRead = useMay()('decisions:read')
  const client = useQueryClient()
  const [isConnected, setConnected] = useState(false)
  const listeners = useMemo(() => new Set<Listener>(), [])

  useEffect(() => {
    if (!mayRead) return
    let source: EventSource | null = null
    let lastEventId = ''
    let reopenMs = REOPEN_MS.first
    let reopening: ReturnType<typeof setTimeout> | undefined
    let refreshing: ReturnType<typeof setTimeout> | null = null

    const refresh = (queryKey: readonly string[]) =>
      // A list that is being read is read to its end: else it would never be there while much happens.
      void client.invalidateQueries({ queryKey }, { cancelRefetch: false })
    const refreshSoon = () => {
      refreshing ??= setTimeout(() => {
        refreshing = null
        for (const key of REFRESHED) refresh([key])
      }, REFRESH_MS)
    }
    const onEvent = ({ data, lastEventId: id }: MessageEvent<string>) => {
      lastEventId = id
      const event = JSON.parse(data) as LiveEvent
      for (const listener of listeners) listener(event)
      refresh(['decision', event.data.id])
      refreshSoon()
    }
    const open = () => {
      source = new EventSource(urlOf('/events', { last_event_id: lastEventId }))
      source.onopen = () => {
        reopenMs = REOPEN_MS.first
        setConnected(true)
        // What happened while there was no stream.
        refresh(['decision'])
        refreshSoon()
      }
      source.onerror = () => {
        setConnected(false)
        if (source?.readyState === EventSource.CLOSED) refused()
      }
      for (const type of EVENT_NAMES) source.addEventListener(type, onEvent)
    }
    const close = () => {
      clearTimeout(reopening)
      source?.close()
      source = null
      setConnected(false)
    }
    /** The server has answered with an error: the session may have ended, or the server may be busy. */
    const refused = () => {
      close()
      lastEventId = ''
      // Shows the sign-in page if that is why.
      void get('/keys/self').catch(() => {})
      reopening = setTimeout(open, reopenMs)
      reopenMs = Math.min(2 * reopenMs, REOPEN_MS.most)
    }
    // A browser has few connections for each server: windows that nobody looks at need none.
    const onVisibility = () => {
      if (document.hidden) close()
      else if (source === null) open()
    }
    onVisibility()
    document.addEventListener('visibilitychange', onVisibility)
    return () => {
      document.removeEventListener('visibilitychange', onVisibility)
      if (refreshing !== null) clearTimeout(refreshing)
      close()
    }
  }, [mayRead, client, listeners])

  const live = useMemo<Live>(
    () => ({
      isConnected,
      listen(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }),
    [isConnected, listeners],
  )
  return <LiveContext value={live}>{children}</LiveContext>
}

export function useLive(): Live {
  const live = useContext(LiveContext)
  if (live === null) throw new Error('useLive needs LiveEvents around it.')
  return live
}

/** Complete: a type that is missing here does not compile. */
const LIVE: Readonly<Record<LiveEvent['type'], true>> = {
  'decision.created': true,
  'decision.approved': true,
  'decision.declined': true,
  'decision.claimed': true,
  'decision.confirmed': true,
  'decision.rejected': true,
  'decision.corrected': true,
  'decision.expired': true,
  'decision.redeemed': true,
}
const EVENT_NAMES = Object.keys(LIVE)
