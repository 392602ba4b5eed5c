import { markOf, type ProviderView } from './pages/provider-buttons.ts';
import type { LoginProvider } from './parse-login-providers.ts';

export function toProviderView({ id, name, issuer }: LoginProvider): ProviderView {
  return { id, name, mark: markOf(issuer) };
}
