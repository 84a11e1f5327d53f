import { Notice } from '../../components/notice'
import { DecisionLink } from '../../components/object-links'
import { Page } from '../../components/page'

/** In the place of a rule for a decision whose request was erased. */
export function NoDraft({ title, decisionId }: { readonly title: string; readonly decisionId: string }) {
  return (
    <Page title={title}>
      <Notice kind="info" title="The request was erased">
        Nobody knows any more what <DecisionLink id={decisionId} /> asked, so there is no rule to draft for it.
      </Notice>
    </Page>
  )
}
