import type { Policy } from '@countersign/contract'
import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { SESSION_KEY } from '../../api/query-client'
import { useSession } from '../../session'
import { draftAt } from './draft-place'
import { NEW_POLICY, policyText } from './policy-text'

export interface Draft {
  readonly text: string
  readonly setText: (text: string) => void
  /** Changes the text as it is at that time. */
  readonly edit: (change: (text: string) => string) => void
  /** What the changes began with; null for a new policy. */
  readonly base: Policy | null
  readonly isDirty: boolean
  /** What somebody else has saved since the changes began; else null. */
  readonly theirs: Policy | null
  /** Gives up the changes for a stored policy. */
  readonly load: (policy: Policy) => void
  readonly discard: () => void
  /** Writes an earlier revision, unsaved. */
  readonly restore: (revision: Policy) => void
  /** This text is stored now, as this policy. */
  readonly markSaved: (policy: Policy, text: string) => void
}

interface State {
  readonly base: Policy | null
  readonly text: string
  /** The text without changes. */
  readonly clean: string
}

interface Kept {
  readonly keyId: string
  readonly place: string
  readonly state: State
}

/** What somebody was writing when the session ended. The same key finds it on the same page. It is in memory only. */
let kept: Kept | null = null

function keptFor(keyId: string, place: string): State | null {
  return kept?.keyId === keyId && kept.place === place ? kept.state : null
}

/**
 * A policy as it is written on this page. When the session ends, it is there again after the next sign-in.
 *
 * @param stored null for a new policy; a newer revision is taken over as long as nothing was changed here
 * @param start what stands in the editor first, unsaved
 */
export function useDraft(stored: Policy | null, start?: string): Draft {
  const keyId = useSession().key.id
  const place = useLocation({ select: draftAt })
  const [state, setState] = useState<State>(() => {
    const mine = keptFor(keyId, place)
    if (mine !== null) return mine
    const clean = stored === null ? NEW_POLICY : policyText(stored)
    return { base: stored, clean, text: start ?? clean }
  })
  const { base, text, clean } = state
  const isDirty = text !== clean
  const client = useQueryClient()
  const latest = useRef(state)
  latest.current = state
  useEffect(() => {
    // It is here again, or somebody else is.
    if (kept?.place === place || kept?.keyId !== keyId) kept = null
    return () => {
      const isOver = client.getQueryData(SESSION_KEY) === null
      const { text: written, clean: before } = latest.current
      if (isOver && written !== before) kept = { keyId, place, state: latest.current }
    }
  }, [client, keyId, place])
  const isNewer = stored !== null && base !== null && stored.revision > base.revision
  const load = (policy: Policy) => {
    const fresh = policyText(policy)
    setState({ base: policy, clean: fresh, text: fresh })
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: what it does is of this very revision
  useEffect(() => {
    if (isNewer && !isDirty) load(stored)
  }, [isNewer, isDirty, stored])
  return {
    text,
    base,
    isDirty,
    theirs: isNewer && isDirty ? stored : null,
    setText: (next) => setState((now) => ({ ...now, text: next })),
    edit: (change) => setState((now) => ({ ...now, text: change(now.text) })),
    load,
    discard: () => setState((now) => ({ ...now, text: now.clean })),
    restore: (revision) => setState((now) => ({ ...now, text: policyText(revision) })),
    markSaved: (policy, saved) => setState((now) => ({ ...now, base: policy, clean: saved })),
  }
}
