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
  /** Changes the latest text. */
  readonly edit: (change: (text: string) => string) => void
  /** The revision that the changes started from; null for a new policy. */
  readonly base: Policy | null
  readonly isDirty: boolean
  /** The revision that another user has saved since; null for none. */
  readonly theirs: Policy | null
  /** Replaces the changes with a stored policy. */
  readonly load: (policy: Policy) => void
  readonly discard: () => void
  /** Puts an earlier revision into the editor, unsaved. */
  readonly restore: (revision: Policy) => void
  /** Records that this text is now stored as this policy. */
  readonly markSaved: (policy: Policy, text: string) => void
}

interface State {
  readonly base: Policy | null
  readonly text: string
  /** The text before any changes. */
  readonly clean: string
}

interface Kept {
  readonly keyId: string
  readonly place: string
  readonly state: State
}

/** The unsaved text at the end of a session. The same key finds it again on the same page. It is kept in memory only. */
let kept: Kept | null = null

function keptFor(keyId: string, place: string): State | null {
  return kept?.keyId === keyId && kept.place === place ? kept.state : null
}

/**
 * The policy that the user edits on this page. If the session ends, the text is restored after the next sign-in.
 *
 * @param stored null for a new policy; a newer revision replaces the text while it is unchanged
 * @param start the initial text, unsaved
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
    // The text was restored, or another key has signed in.
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
