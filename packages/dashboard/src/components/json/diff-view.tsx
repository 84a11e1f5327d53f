/** Shows two texts in one view, with removed and added lines. */
import { json } from '@codemirror/lang-json'
import { unifiedMergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { useComputedColorScheme } from '@mantine/core'
import { minimalSetup } from 'codemirror'
import { useEffect, useRef } from 'react'
import { codeTheme } from './code-theme'

export interface DiffViewProps {
  readonly label: string
  readonly before: string
  readonly after: string
}

export function DiffView({ label, before, after }: DiffViewProps) {
  const isDark = useComputedColorScheme('light') === 'dark'
  const parent = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const view = new EditorView({
      parent: parent.current as HTMLDivElement,
      doc: after,
      extensions: [
        minimalSetup,
        json(),
        codeTheme(isDark),
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ 'aria-label': label, 'aria-readonly': 'true', tabindex: '0' }),
        unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
      ],
    })
    return () => view.destroy()
  }, [label, before, after, isDark])
  return <div ref={parent} />
}
