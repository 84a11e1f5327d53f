/** Live events about decisions: one stream for the whole window. */
import type { LiveEvent } from '@countersign/contract'
import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { useAway } from './api/away'
import { call, operationUrl, probe } from './api/client'
import { useMay } from './session'

type Listener = (event: LiveEvent) => void

interface Live {
  /** Whether the stream is connected. */
  readonly isConnected: boolean
  /** @returns a function that stops listening */
  readonly listen: (listener: Listener) => () => void
}

const LiveContext = createContext<Live | null>(null)

/** The shortest time between two reads of the lists. */
const REFRESH_MS = 1_000
/** How long to wait before reopening a refused stream. The wait doubles each time. */
const REOPEN_MS = { first: 1_000, most: 30_000 }
/** The queries that a change of any decision can affect. A query about one decision is refreshed only for its own events. */
const REFRESHED = ['decisions', 'reviews', 'budgets', 'stats', 'agents']

export function LiveEvents({ children }: { readonly children: ReactNode }) {
  const mayRead = useMay()('decisions:read')
  const isAway = useAway()
  const client = useQueryClient()
  const [isConnected, setConnected] = useState(false)
  const listeners = useMemo(() => new Set<Listener>(), [])

  useEffect(() => {
    // Opening the stream when the server is back avoids the browser's long pause before a reconnect.
    if (!mayRead || isAway) return
    let source: EventSource | null = null
    let lastEventId = ''
    let reopenMs = REOPEN_MS.first
    let reopening: ReturnType<typeof setTimeout> | undefined
    let refreshing: ReturnType<typeof setTimeout> | null = null

    const refresh = (queryKey: readonly string[]) =>
      // A running read is not restarted: under many events a list would otherwise never load.
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
      source = new EventSource(operationUrl('events.stream', { query: { last_event_id: lastEventId } }))
      source.onopen = () => {
        reopenMs = REOPEN_MS.first
        setConnected(true)
        // Fetches what happened while there was no stream.
        refresh(['decision'])
        refreshSoon()
      }
      source.onerror = () => {
        setConnected(false)
        if (source?.readyState === EventSource.CLOSED) refused()
        else void probe()
      }
      for (const type of EVENT_NAMES) source.addEventListener(type, onEvent)
    }
    const close = () => {
      clearTimeout(reopening)
      source?.close()
      source = null
      setConnected(false)
    }
    /** The server responded with an error: the session may have ended, or the server may be busy. */
    const refused = () => {
      close()
      lastEventId = ''
      // Shows the sign-in page if the session has ended.
      void call('keys.self', {}).catch(() => {})
      reopening = setTimeout(open, reopenMs)
      reopenMs = Math.min(2 * reopenMs, REOPEN_MS.most)
    }
    // A browser allows few connections per server, so a hidden window holds none.
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
  }, [mayRead, isAway, client, listeners])

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

/** A record, so that a missing type does not compile. */
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
