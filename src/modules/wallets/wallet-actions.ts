/** The actions of wallets on the login page: the message to sign, and its signature. */
import type { Action } from '../../login-page/action.ts';
import { continueAfter } from '../../login-page/leave-signed-in.ts';
import { pickFields } from '../../login-page/login-context.ts';
import { sendScriptResponse } from '../../login-page/responses.ts';
import { createWalletChallenge } from './domain/create-wallet-challenge.ts';
import { redeemWalletSignature } from './domain/redeem-wallet-signature.ts';

const needs = 'wallet';
const failedSignIns = ['INVALID_SIGNATURE', 'UNKNOWN_WALLET'] as const;

export function createWalletActions(chainId: number): readonly Action[] {
  return [
    {
      method: 'POST',
      path: '/login/wallet/challenge',
      needs,
      form: 'script',
      async run(request) {
        const { call, parts, browser, context, fields } = request;
        const asked = { ...fields, ...pickFields(request, 'address') };
        const { authPageUrl } = parts;
        sendScriptResponse(context, 200, await createWalletChallenge(call, { authPageUrl, chainId }, browser, asked));
      },
    },
    {
      method: 'POST',
      path: '/login/wallet',
      needs,
      form: 'choice',
      failedSignIns,
      async run(request) {
        const { call, parts, browser, fields } = request;
        const walletParts = { ...parts, hasEmail: parts.methods.includes('email') };
        const signed = { ...fields, ...pickFields(request, 'signature') };
        await continueAfter(request, await redeemWalletSignature(call, walletParts, browser, signed), 'link');
      },
    },
  ];
}
