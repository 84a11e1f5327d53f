import { Notice } from '../../components/notice'
import { DecisionLink } from '../../components/object-links'
import { Page } from '../../components/page'

/** Shown when no rule can be drafted, because the request was erased. */
export function NoDraft({ title, decisionId }: { readonly title: string; readonly decisionId: string }) {
  return (
    <Page title={title}>
      <Notice kind="info" title="The request was erased">
        The server no longer knows what <DecisionLink id={decisionId} /> requested, so no rule can be drafted for it.
      </Notice>
    </Page>
  )
}
