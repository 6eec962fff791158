"""Mistakes that RMSNorm invites, however its work is divided; for the checks of pages 11 and 12.

Each is a formula on the reference's arguments x, w, eps, and the sentence that names it.
"""
