#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# collect.pl FROM TO NAME SINCE [PATH...] - keeps what our programs wrote below FROM (receipts, event files, summaries, reports,
# verifications), and the worlds there, in TO, each once, as NAME-NUMBER.KIND, for judge.mjs.  Each PATH is passed over: a test made or
# changed what is there.  So are files of runs that began before SINCE (seconds): somebody ran the world that a test copied.
# Nothing is read but regular files; links are not followed.
use strict;
use warnings;
use Digest::MD5;
use File::Copy qw(copy);
use File::Find;

my ($from, $to, $name, $since, @others) = @ARGV;
my %not_made = map { $_ => 1 } @others;
my (%seen, $number);

sub kind_of {
	my ($path) = @_;
	open my $fh, '<:raw', $path or return;
	read $fh, my $start, 64;
	return $1 if defined $start && $start =~ /^\{\s*"agenttwin":\s*"(receipt|series|tests|verification)\/1"/;
	return 'world' if $path =~ /world\.json\z/ && defined $start && $start =~ /^\s*\{/;
	return 'events' if $path =~ /\.events\.jsonl\z/ && defined $start && length $start;
	return;
}

# The id of a run begins with its time: 48 bits, milliseconds.
sub is_old {
	my ($path) = @_;
	return $path =~ m{/([0-9a-f]{8})-([0-9a-f]{4})-7[^/]*\z} && hex("$1$2") < 1000 * $since;
}

sub keep {
	my ($path) = @_;
	return if is_old($path);
	my $kind = kind_of($path) or return;
	open my $fh, '<:raw', $path or return;
	return if $seen{ Digest::MD5->new->addfile($fh)->digest }++;
	my $place = sprintf '%s/%s-%d.%s', $to, $name, ++$number, $kind;
	link $path, $place or copy $path, $place or warn "$path: $!\n";
}

find({
	no_chdir => 1,
	preprocess => sub { grep { $_ ne 'node_modules' && !$not_made{"$File::Find::dir/$_"} } sort @_ },
	wanted => sub { keep($_) if !-l && -f _ && -s _ },
}, $from);
