// Labels issues that have none, page by page, with octokit.  --first-page forgets that there is more than one page.
import { Octokit } from '@octokit/core';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import { retry } from '@octokit/plugin-retry';

const github = new (Octokit.plugin(paginateRest, retry))({ auth: process.env.GITHUB_TOKEN, retry: { retryAfterBaseValue: 20 } });
const where = { owner: 'example', repo: 'shop', per_page: 2 };
const issues = process.argv.includes('--first-page')
	? (await github.request('GET /repos/{owner}/{repo}/issues', where)).data
	: await github.paginate('GET /repos/{owner}/{repo}/issues', where);

for (const issue of issues.filter((one) => one.label === 'none')) {
	const label = /crash|error/i.test(issue.title) ? 'bug' : 'question';
	await github.request('PATCH /repos/{owner}/{repo}/issues/{issue_number}', { owner: where.owner, repo: where.repo, issue_number: issue.id, label });
}
console.log(`looked at ${issues.length} issues`);
